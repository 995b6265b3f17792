//! PTX that a driver does not take: the lesson's own, with one word changed.

use host::kernels::{IMAGES, Image};
use host::submit::{Context, Error};

use crate::rig::{On, with_driver};

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

fn open(images: Vec<Image>) -> Result<Context, Error> {
    Context::open(0, images.leak())
}

/// The code and the message of what was refused.
#[track_caller]
fn refused(image: Image) -> (Option<u32>, String) {
    match open(vec![image]) {
        Ok(_) => panic!("it was taken"),
        Err(error) => (error.code(), error.to_string()),
    }
}

pub fn too_new(on: On) {
    with_driver(on, || {
        let Err(error) = open(vec![image((9, 9), &version(), ".version 9.9")]) else {
            panic!("it was taken")
        };
        assert!(matches!(error, Error::PtxTooNew { ptx: (9, 9), .. }) && error.is_bad_input(), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("the driver speaks CUDA 1") && text.contains("refuses PTX 9.9"), "{text}");
    });
}

pub fn older_instead(on: On) {
    with_driver(on, || {
        let new = image((9, 9), &version(), ".version 9.9");
        let good = image(IMAGES[0].ptx_version, &version(), &version());
        let context = open(vec![new, good]).unwrap();
        assert_eq!(context.module().image().ptx_version, IMAGES[0].ptx_version);
        assert!(context.finish().is_empty());
    });
}

pub fn for_another_card(on: On) {
    with_driver(on, || {
        let target = format!(".target {}", IMAGES[0].arch);
        let (code, text) = refused(image(IMAGES[0].ptx_version, &target, ".target sm_120"));
        assert_eq!(code, Some(218), "{text}");
        assert_eq!(text.matches("the PTX is for sm_120 and this card is sm_").count(), 1, "{text}");
        assert!(!text.contains('\n'), "{text}");
    });
}

pub fn not_ptx(on: On) {
    with_driver(on, || {
        let line = IMAGES[0].text.lines().position(|line| line.contains("\tret;")).unwrap() + 1;
        let unknown = image(IMAGES[0].ptx_version, "\tret;", "\tfrobnicate;");
        let (code, text) = refused(unknown);
        assert_eq!(code, Some(218), "{text}");
        assert!(text.contains(&format!("line {line}")), "{text}");

        let prose = Image { text: "Lorem ipsum", ..image(IMAGES[0].ptx_version, "ret", "ret") };
        assert_eq!(refused(prose).0, Some(200));

        if on != On::Gpu {
            let line = IMAGES[0].text.lines().position(|line| line.starts_with(".target")).unwrap() + 1;
            let (code, text) = refused(image(IMAGES[0].ptx_version, ".target sm_", ".target rch=sm_"));
            assert_eq!(code, Some(218), "{text}");
            assert!(text.contains(&format!("line {line}")), "{text}");
        }
    });
}
