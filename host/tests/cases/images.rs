//! PTX that a driver does not take: the lessons' own, with one word changed.

use cuda_std::abi::Image;
use host::kernels::IMAGES;
use streamlab::{Context, Error};

use crate::rig::On;
use crate::support::alone;

/// The oldest image with a word replaced. The program says of it what it says of the good one, but for the version.
fn image(ptx_version: (u32, u32), from: &str, to: &str) -> Image {
    let Image { arch, capability, kernels, text, .. } = IMAGES[0];
    assert!(text.contains(from), "{from}");
    Image { arch, capability, ptx_version, kernels, text: text.replacen(from, to, 1).leak() }
}

fn version() -> String {
    let (major, minor) = IMAGES[0].ptx_version;
    format!(".version {major}.{minor}")
}

fn open(on: On, images: Vec<Image>) -> Result<Context, Error> {
    Context::open(on.options(), images.leak())
}

/// The number of the first line of the good text for which this holds, from 1.
fn line(is_it: impl Fn(&str) -> bool) -> usize {
    IMAGES[0].text.lines().position(is_it).unwrap() + 1
}

/// The code and the message of what was refused.
#[track_caller]
fn refused(on: On, image: Image) -> (Option<u32>, String) {
    let error = open(on, vec![image]).unwrap_err();
    (error.code(), error.to_string())
}

pub fn too_new(on: On) {
    let _alone = alone();
    let error = open(on, vec![image((9, 9), &version(), ".version 9.9")]).unwrap_err();
    assert!(matches!(error, Error::PtxTooNew { ptx: (9, 9), driver: (10.., _) }), "{error}");
    assert!(error.is_bad_input() && error.to_string().contains("PTX 9.9"), "{error}");
}

pub fn older_instead(on: On) {
    let _alone = alone();
    let new = image((9, 9), &version(), ".version 9.9");
    let good = image(IMAGES[0].ptx_version, &version(), &version());
    let context = open(on, vec![new, good]).unwrap();
    assert_eq!(context.module().image().ptx_version, IMAGES[0].ptx_version);
    assert!(context.finish().is_empty());
}

pub fn for_another_device(on: On) {
    let _alone = alone();
    let target = format!(".target {}", IMAGES[0].arch);
    let (code, text) = refused(on, image(IMAGES[0].ptx_version, &target, ".target sm_120"));
    assert_eq!(code, Some(218), "{text}");
    assert_eq!(text.matches("PTX is for sm_120").count(), 1, "{text}");
    assert!(text.contains(" is sm_") && !text.contains('\n'), "{text}");
}

pub fn not_ptx(on: On) {
    let _alone = alone();
    let unknown = image(IMAGES[0].ptx_version, "\tret;", "\tfrobnicate;");
    let (code, text) = refused(on, unknown);
    assert_eq!(code, Some(218), "{text}");
    assert!(text.contains(&format!("line {}", line(|line| line.contains("\tret;")))), "{text}");

    let prose = Image { text: "Lorem ipsum", ..image(IMAGES[0].ptx_version, "ret", "ret") };
    assert_eq!(refused(on, prose).0, Some(200));

    if on != On::Gpu {
        let (code, text) = refused(on, image(IMAGES[0].ptx_version, ".target sm_", ".target rch=sm_"));
        assert_eq!(code, Some(218), "{text}");
        assert!(text.contains(&format!("line {}", line(|line| line.starts_with(".target")))), "{text}");
    }
}
