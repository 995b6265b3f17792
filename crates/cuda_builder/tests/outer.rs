//! Cargo's own commands on a host crate whose build script embeds the kernels: which of them work, when the script
//! runs again, what of the user's settings reaches the kernels, and what a compile error looks like to the user.

#![allow(clippy::unwrap_used, reason = "a test may panic, and the lint does not know helpers of tests")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use common::{Room, snapshot};
use cuda_builder::CudaBuilder;

/// What the build script of the fixture `app` starts.
#[test]
#[ignore = "the build script of the fixture runs it, in a process of its own"]
#[expect(clippy::exit, reason = "the exit code is what the build script looks at")]
fn embed_in_a_process_of_its_own() {
    // Run by a person, there is no build script around it and nothing to do.
    if std::env::var_os("TEST_BINARY").is_some() {
        // The test runner may have left a line unfinished.
        println!();
        let code = CudaBuilder::new("../kernels").embed();
        std::process::exit(if code == ExitCode::SUCCESS { 0 } else { 1 });
    }
}

/// A cargo command in the host crate, with a target folder beside it.
fn cargo(room: &Room, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).arg("--target-dir").arg(room.at("outer")).current_dir(room.at("app"));
    cargo.env("TEST_BINARY", std::env::current_exe().unwrap());
    // Whatever the run of this test was given is not the user's setting here.
    for name in
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TERM_COLOR", "CARGO_TERM_VERBOSE", "CARGO_TARGET_DIR"]
    {
        cargo.env_remove(name);
    }
    cargo
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs it, expects it to work, and gives what cargo said.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    stderr(&output)
}

/// The PTX of every build script's run below a folder: architecture's file name and text.
fn ptx_below(dir: &Path) -> Vec<(String, String)> {
    let files = snapshot(dir).into_iter();
    let ptx = files.filter(|(file, _)| file.extension().is_some_and(|extension| extension == "ptx"));
    let named = ptx.map(|(file, text)| {
        (file.file_name().unwrap().to_str().unwrap().to_owned(), String::from_utf8(text).unwrap())
    });
    named.collect()
}

#[test]
fn check_clippy_doc_and_test_work() {
    let room = Room::with(&["kernels", "app"]);
    for command in ["check", "clippy", "doc", "build", "test"] {
        run(&mut cargo(&room, &[command]));
    }
    assert!(!ptx_below(&room.at("outer")).is_empty());
}

#[test]
fn the_script_runs_again_when_an_input_changed_and_only_then() {
    let room = Room::with(&["kernels", "app"]);
    let mut build = cargo(&room, &["build", "--verbose"]);
    run(&mut build);
    fs::write(room.at("kernels/README.md"), "no input").unwrap();
    let said = run(&mut build);
    assert!(said.contains("Fresh app ") && !said.contains("Running"), "{said}");

    for input in
        ["kernels/src/newer.rs", "kernels/helper/src/lib.rs", "kernels/Cargo.toml", "kernels/Cargo.lock"]
    {
        room.append(input, "\n");
        let said = run(&mut build);
        assert!(said.contains("Dirty app ") && said.contains(input), "{input}: {said}");
        let said = run(&mut build);
        assert!(said.contains("Fresh app "), "{input}: {said}");
    }
}

#[test]
fn no_setting_of_the_users_reaches_the_kernels() {
    let plain = Room::with(&["kernels", "app"]);
    run(&mut cargo(&plain, &["build"]));

    let room = Room::with(&["kernels", "app"]);
    // What holds for kernels too, in the eyes of a cargo that is started in their folder.
    let settings = "
        [build]
        rustflags = ['--cfg', 'user']
        [target.nvptx64-nvidia-cuda]
        linker = '/nowhere/linker'
        rustflags = ['-Cnonsense']
        [profile.release]
        opt-level = 0
        debug = 2
        overflow-checks = true
        debug-assertions = true
        lto = 'off'
    ";
    // What cargo hands to the build script besides what it sets itself.
    let variables = "
        [env]
        RUSTFLAGS = '-Cnonsense'
        RUSTC_WRAPPER = '/nowhere/wrapper'
        RUSTC_WORKSPACE_WRAPPER = '/nowhere/wrapper'
        CARGO_BUILD_TARGET = 'nonsense'
        CARGO_BUILD_RUSTC = '/nowhere/rustc'
        CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS = '-Cnonsense'
        CARGO_PROFILE_RELEASE_OPT_LEVEL = 'nonsense'
        CARGO_TERM_VERBOSE = 'true'
    ";
    for (folder, text) in [(".cargo", settings), ("app/.cargo", variables)] {
        fs::create_dir_all(room.at(folder)).unwrap();
        fs::write(room.at(folder).join("config.toml"), text).unwrap();
    }
    room.append("kernels/src/lib.rs", "#[cfg(user)]\ncompile_error!(\"the user's flags are here\");\n");
    run(cargo(&room, &["build"]).env("RUSTFLAGS", "-Ctarget-cpu=native --cfg user"));

    let [plain, set] = [plain, room].map(|room| ptx_below(&room.at("outer")));
    assert_eq!(plain.len(), 2);
    assert_eq!(plain, set);
}

#[test]
fn a_compile_error_is_shown_as_rustc_says_it_and_then_on_one_line() {
    let room = Room::with(&["kernels", "app"]);
    let n_lines = fs::read_to_string(room.lib()).unwrap().lines().count();
    room.append("kernels/src/lib.rs", "fn wrong() -> u32 { \"text\" }\n");
    let output = cargo(&room, &["build"]).env("RUST_BACKTRACE", "1").output().unwrap();
    let said = stderr(&output);
    let place = format!("--> src/lib.rs:{}:21", n_lines + 1);
    for part in ["error[E0308]: mismatched types", &place, "error: the kernels did not compile for sm_75: "] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(
        !output.status.success() && !said.contains("panicked") && !said.contains("stack backtrace"),
        "{said}"
    );
    assert_eq!(said.matches("did not compile for").count(), 1, "{said}");
}

#[test]
fn the_compilers_colours_are_as_the_user_wants_them() {
    let room = Room::with(&["kernels", "app"]);
    room.append("kernels/src/lib.rs", "wrong");
    for (wanted, coloured) in [("always", true), ("never", false)] {
        let output = cargo(&room, &["build"]).env("CARGO_TERM_COLOR", wanted).output().unwrap();
        let said = stderr(&output);
        let message = said.lines().find(|line| line.contains("expected one of")).unwrap();
        assert_eq!(message.contains('\x1b'), coloured, "{said}");
    }
}

#[test]
fn a_core_that_came_with_the_toolchain_serves_as_one_that_was_compiled_here() {
    let room = Room::with(&["kernels", "app"]);
    run(&mut cargo(&room, &["build"]));
    // A toolchain that has this machine's core for the GPU in the place where rustup would put it.
    let ours = room.build();
    let Some(core) = ours.core().sysroot() else { return };
    let answer =
        Command::new("rustc").args(["--print", "sysroot"]).current_dir(room.at("app")).output().unwrap();
    let real = PathBuf::from(String::from_utf8(answer.stdout).unwrap().trim_end());
    let toolchain = room.at("toolchain");
    for (below, from) in [("lib", &real), ("lib/rustlib", &real), ("lib/rustlib", &core.to_owned())] {
        fs::create_dir_all(toolchain.join(below)).unwrap();
        for entry in fs::read_dir(from.join(below)).unwrap() {
            let entry = entry.unwrap();
            // The folder that the next round fills is none to link to.
            if entry.file_name() != "rustlib" {
                symlink(entry.path(), toolchain.join(below).join(entry.file_name())).unwrap();
            }
        }
    }
    let rustc = toolchain.join("bin/rustc");
    fs::create_dir_all(toolchain.join("bin")).unwrap();
    let script = format!(
        "#!/bin/sh\nexec '{}/bin/rustc' --sysroot '{}' \"$@\"\n",
        real.display(),
        toolchain.display()
    );
    fs::write(&rustc, script).unwrap();
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).unwrap();

    let other = Room::with(&["kernels", "app"]);
    run(cargo(&other, &["build"]).env("RUSTC", &rustc));
    assert_eq!(ptx_below(&other.at("outer")), ptx_below(&room.at("outer")));
    let written =
        snapshot(&other.at("outer")).into_iter().find(|(file, _)| file.ends_with("ptx.rs")).unwrap().1;
    let written = String::from_utf8(written).unwrap();
    assert!(written.contains("as it came with the toolchain") && written.contains("a room"), "{written}");
}

#[test]
fn outside_a_build_script_there_is_nothing_to_embed_into() {
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "embed_in_a_process_of_its_own", "--ignored", "--nocapture"]);
    let output = test.env("TEST_BINARY", "").env_remove("OUT_DIR").output().unwrap();
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("error: not in a build script: OUT_DIR is not set"),
        "{}",
        stderr(&output)
    );
}
