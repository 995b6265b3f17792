//! The drawings as files to look at: `tests/pictures`. Where one changes on purpose,
//! `UPDATE_PICTURES=1 cargo test -p timeline --test pictures` writes them anew.

mod support;

use std::path::Path;
use std::{env, fs};

use timeline::{svg, terminal};

#[test]
fn the_pictures_are_those_that_were_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
    for (name, timeline) in support::all() {
        for (ending, text) in [("svg", svg::draw(&timeline)), ("txt", terminal::draw(&timeline, 80, false))] {
            let path = folder.join(format!("{name}.{ending}"));
            if env::var_os("UPDATE_PICTURES").is_some() {
                fs::write(&path, &text).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap();
            let same = kept.lines().zip(text.lines()).take_while(|(kept, now)| kept == now).count();
            assert!(
                kept == text,
                "{} differs from line {} on; see the head of this test",
                path.display(),
                same + 1
            );
        }
    }
}
