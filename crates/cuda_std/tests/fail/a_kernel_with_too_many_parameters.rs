use cuda_std::kernel;

#[kernel]
pub fn bad(s1: &[u8], s2: &[u8], s3: &[u8], s4: &[u8], s5: &[u8], s6: &[u8], s7: &[u8], s8: &[u8], s9: &[u8], s10: &[u8], s11: &[u8], s12: &[u8], s13: &[u8], s14: &[u8], s15: &[u8], s16: &[u8], s17: &[u8]) {}

fn main() {}
