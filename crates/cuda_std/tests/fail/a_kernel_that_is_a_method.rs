use cuda_std::kernel;

struct S;
impl S {
    #[kernel]
    pub fn bad(&self, out: &mut [f32]) {
        out[0] = 1.0;
    }
}

fn main() {}
