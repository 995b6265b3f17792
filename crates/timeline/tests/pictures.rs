//! What is drawn, as files to look at.
mod support;
#[test]
fn x() {
    for (n, t) in
        [("forkjoin", support::forkjoin(132)), ("pdl", support::pdl()), ("twenty", support::twenty())]
    {
        std::fs::write(format!("/tmp/me/pa/{n}.svg"), timeline::svg::draw(&t)).unwrap();
    }
}
