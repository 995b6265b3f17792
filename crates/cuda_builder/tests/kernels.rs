//! A kernel crate through the whole library, with this machine's compiler and its core: what comes out, what is built
//! again and what is not, and what each mistake looks like.

#![allow(clippy::unwrap_used, reason = "a test may panic, and the lint does not know helpers of tests")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread;

use common::{Room, snapshot};
use cuda_builder::{Build, CudaBuilder, Error};

fn fresh(build: &Build) -> Vec<bool> {
    build.modules().iter().map(|module| module.fresh).collect()
}

fn texts(build: &Build) -> Vec<String> {
    build.modules().iter().map(|module| fs::read_to_string(&module.path).unwrap()).collect()
}

fn error(room: &Room) -> Error {
    room.builder().build().unwrap_err()
}

#[test]
fn each_architecture_has_its_kernels() {
    let build = Room::with(&["kernels"]).build();
    let modules = build.modules();
    let seen =
        modules.iter().map(|module| (module.arch.as_str(), module.kernels.join(" "))).collect::<Vec<_>>();
    assert_eq!(seen, [("sm_75", "scale".to_owned()), ("sm_90", "only_newer scale".to_owned())]);
    assert!(modules[0].ptx_version < modules[1].ptx_version);
}

#[test]
fn a_bounds_check_brings_cores_panic_functions_along() {
    let room = Room::with(&["kernels"]);
    for text in texts(&room.build()) {
        assert!(text.contains("panic_bounds_check") && !text.contains(".extern"), "{text}");
        // A release build: the multiplication beside it is not checked.
        assert!(!text.contains("overflow"), "{text}");
    }
}

#[test]
fn nothing_is_compiled_when_nothing_changed() {
    let room = Room::with(&["kernels"]);
    assert_eq!(fresh(&room.build()), [false, false]);
    assert_eq!(fresh(&room.build()), [true, true]);
}

#[test]
fn a_change_reaches_the_ptx_from_the_crate_and_from_its_dependencies() {
    let room = Room::with(&["kernels"]);
    let before = texts(&room.build());
    room.append("kernels/src/lib.rs", "#[unsafe(no_mangle)]\npub extern \"ptx-kernel\" fn added() {}\n");
    let build = room.build();
    assert_eq!(fresh(&build), [false, false]);
    assert!(build.modules().iter().all(|module| module.kernels.contains(&"added".to_owned())));

    let helper = room.at("kernels/helper/src/lib.rs");
    fs::write(&helper, fs::read_to_string(&helper).unwrap().replace("= 3", "= 5")).unwrap();
    let after = texts(&room.build());
    assert!(before.iter().all(|text| text.contains(", 3;") && !text.contains(", 5;")));
    assert!(after.iter().all(|text| text.contains(", 5;") && !text.contains(", 3;")));
}

#[test]
fn a_ptx_file_that_was_removed_comes_back() {
    let room = Room::with(&["kernels"]);
    let before = texts(&room.build());
    fs::remove_file(room.at("target/sm_90.ptx")).unwrap();
    assert_eq!(texts(&room.build()), before);
}

#[test]
fn the_same_sources_elsewhere_give_the_same_ptx() {
    let [one, other] = [(); 2].map(|()| Room::with(&["kernels"]));
    assert_eq!(texts(&one.build()), texts(&other.build()));
}

#[test]
fn the_inputs_are_the_sources_that_were_compiled_and_what_is_around_them() {
    let room = Room::with(&["kernels"]);
    fs::write(room.at("rust-toolchain.toml"), "[toolchain]\n").unwrap();
    fs::write(room.at("kernels/src/unused.rs"), "not a module of the crate").unwrap();
    let expected = "kernels/Cargo.toml kernels/Cargo.lock kernels/src/lib.rs kernels/src/newer.rs \
        kernels/helper/Cargo.toml kernels/helper/src/lib.rs rust-toolchain.toml";
    let room_dir = room.at("").canonicalize().unwrap();
    let expected = expected.split_whitespace().map(|name| room_dir.join(name)).collect::<BTreeSet<PathBuf>>();
    assert_eq!(room.build().inputs(), &expected);
}

#[test]
fn a_build_script_is_an_input_and_what_it_generates_is_not() {
    let room = Room::with(&["kernels"]);
    let script =
        "fn main() { std::fs::write(std::env::var(\"OUT_DIR\").unwrap() + \"/made.rs\", \"\").unwrap() }";
    fs::write(room.at("kernels/helper/build.rs"), script).unwrap();
    room.append("kernels/helper/src/lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n");
    let build = room.build();
    let inputs = build.inputs();
    assert!(inputs.contains(&room.at("kernels/helper/build.rs").canonicalize().unwrap()), "{inputs:?}");
    assert!(!inputs.iter().any(|file| file.ends_with("made.rs")), "{inputs:?}");
}

#[test]
fn the_source_tree_is_only_read() {
    let room = Room::with(&["kernels"]);
    let before = snapshot(&room.at("kernels"));
    // For root the permission is no obstacle, hence the look at what is there afterwards.
    for (file, _) in &before {
        let mut permissions = fs::metadata(file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(file, permissions).unwrap();
    }
    room.build();
    assert_eq!(snapshot(&room.at("kernels")), before);
}

#[test]
fn a_lock_file_that_would_have_to_change_is_an_error_and_stays_as_it_is() {
    let missing = Room::with(&["kernels"]);
    fs::remove_file(missing.at("kernels/Cargo.lock")).unwrap();
    let stale = Room::with(&["kernels"]);
    stale.append("kernels/helper/Cargo.toml", "[dependencies]\nmore = { path = \"../more\" }\n");
    fs::create_dir_all(stale.at("kernels/more/src")).unwrap();
    fs::write(stale.at("kernels/more/Cargo.toml"), "[package]\nname = \"more\"\nedition = \"2024\"\n")
        .unwrap();
    fs::write(stale.at("kernels/more/src/lib.rs"), "#![no_std]\n").unwrap();
    for room in [missing, stale] {
        let before = snapshot(&room.at("kernels"));
        let error = error(&room);
        assert!(matches!(error, Error::StaleLock { .. }), "{}{error}", error.diagnostics());
        assert!(error.to_string().contains("`cargo update --workspace --manifest-path \"/"), "{error}");
        assert_eq!(snapshot(&room.at("kernels")), before);
    }
}

#[test]
fn a_compile_error_is_rustcs_own_message_and_one_line() {
    let room = Room::with(&["kernels"]);
    let n_lines = fs::read_to_string(room.lib()).unwrap().lines().count();
    room.append("kernels/src/lib.rs", "fn wrong() -> u32 { \"text\" }\n");
    let error = error(&room);
    let diagnostics = error.diagnostics();
    assert!(diagnostics.contains("error[E0308]: mismatched types"), "{diagnostics}");
    assert!(diagnostics.contains(&format!("--> src/lib.rs:{}:21", n_lines + 1)), "{diagnostics}");
    assert!(!diagnostics.contains("panicked"), "{diagnostics}");
    let line = error.to_string();
    assert!(
        line.starts_with("the kernels did not compile for sm_75: ") && line.lines().count() == 1,
        "{line}"
    );
}

#[test]
fn a_repaired_kernel_compiles_again() {
    let room = Room::with(&["kernels"]);
    let before = texts(&room.build());
    let source = fs::read_to_string(room.lib()).unwrap();
    room.append("kernels/src/lib.rs", "wrong");
    error(&room);
    fs::write(room.lib(), source).unwrap();
    assert_eq!(texts(&room.build()), before);
}

#[test]
fn a_warning_is_handed_on_once_and_stops_nothing() {
    let room = Room::with(&["kernels"]);
    room.append("kernels/src/lib.rs", "fn unused() {}\n");
    let build = room.build();
    assert_eq!(build.diagnostics().matches("function `unused` is never used").count(), 1);
}

#[test]
fn a_function_that_nothing_defines_is_named() {
    let room = Room::with(&["kernels"]);
    let calls = "unsafe extern \"C\" {\n    fn missing(x: u32) -> u32;\n}\n#[unsafe(no_mangle)]\n\
        pub unsafe extern \"ptx-kernel\" fn calls(out: *mut u32) {\n    unsafe { *out = missing(1) }\n}\n";
    room.append("kernels/src/lib.rs", calls);
    for _ in 0..2 {
        let Error::Unresolved { names, .. } = error(&room) else { panic!("not the error that was expected") };
        assert_eq!(names, ["missing"]);
    }
}

#[test]
fn a_crate_without_a_kernel_of_its_own_is_refused_on_one_line() {
    let room = Room::with(&["kernels"]);
    let plain = "#![no_std]\n#![feature(abi_ptx)]\n#[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo) -> ! {\n    loop {}\n}\n";
    let kernel = |name: &str| format!("#[unsafe(no_mangle)]\npub extern \"ptx-kernel\" fn {name}() {{}}\n");
    let newer = format!("#[cfg(target_feature = \"sm_90\")]\n{}", kernel("only_newer"));
    // What a crate has that depends on `cuda_std` and marks nothing.
    let librarys = kernel("streamlab_timestamp");
    for (added, is_refused) in [("", true), (&*librarys, true), (&*newer, false), (&*kernel("own"), false)] {
        fs::write(room.lib(), format!("{plain}{added}")).unwrap();
        match room.builder().build() {
            Ok(_) => assert!(!is_refused, "{added}"),
            Err(error) => {
                assert!(is_refused && matches!(error, Error::NoKernel { .. }), "{added}{error}");
                let dir = room.at("kernels").canonicalize().unwrap();
                let words = format!("`{}` has no kernel: mark a function with #[kernel]", dir.display());
                assert_eq!(error.to_string(), words);
            }
        }
    }
}

#[test]
fn an_architecture_that_is_none_or_unknown_is_refused_before_anything_is_compiled() {
    let room = Room::with(&["kernels"]);
    for arch in ["75", "sm_999"] {
        let error = room.builder().archs(["sm_75", arch]).build().unwrap_err().to_string();
        assert!(error.contains(arch), "{error}");
        assert!(!room.at("target").exists());
    }
}

#[test]
fn a_folder_without_a_crate_is_said_to_have_none() {
    let room = Room::with(&["kernels"]);
    for folder in ["kernels/src", "nowhere"] {
        let error = CudaBuilder::new(room.at(folder)).build().unwrap_err().to_string();
        assert!(error.contains(folder) && error.contains("no Cargo.toml"), "{error}");
    }
}

#[test]
fn two_builds_at_once_in_one_folder_do_not_disturb_each_other() {
    let room = Room::with(&["kernels"]);
    let two_at_once = || {
        thread::scope(|scope| {
            let builds = [(); 2].map(|()| scope.spawn(|| texts(&room.build())));
            builds.map(|build| build.join().unwrap())
        })
    };
    let [one, other] = two_at_once();
    assert_eq!(one, other);
    fs::remove_file(room.at("target/sm_75.ptx")).unwrap();
    assert_eq!(two_at_once(), [one, other]);
}
