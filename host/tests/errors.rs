//! The lesson on errors: what it finds, what its children return, and that it fails where its claims do not hold. Whole lessons run
//! as the built program, because it starts itself again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/program.rs"]
mod program;
mod support;

use std::ffi::{c_uint, c_void};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_driver::{CUfunction, CUstream, CuResult, Symbol};
use host::check::Verdict::{Fail, NotJudged, Pass};
use host::kernels::IMAGES;
use host::lab::{Lab, Stop};
use host::lessons::{errors, standard};
use host::report::Report;
use program::{document, host, text};
use serde_json::Value;
use stream_order::program::Action;
use streamlab::{
    Context, Device, DeviceBuffer, DriverError, Error, LaunchBlocking, LaunchConfig, Model, Stream,
    StreamKind,
};
use support::{alone, common, failed, on_device, verdict, verdicts};

const CHECKS: [&str; 17] = [
    "sound.missing-edges",
    "sound.result",
    "refused.block-x",
    "refused.block-threads",
    "refused.block-z",
    "refused.grid-y",
    "refused.no-block",
    "refused.shared-unrequested",
    "refused.shared-too-large",
    "refused.allocation",
    "refused.elapsed",
    "last-error.kept-until-taken",
    "fault.reported-by-wait",
    "fault.sticky",
    "fault.new-context",
    "fault.reported-by-launch",
    "fault.parent-unharmed",
];

/// The place of the one line of the lesson that has this in it, as messages write it.
fn place(code: &str) -> String {
    let source = include_str!("../src/lessons/errors.rs");
    let line = 1 + source.lines().position(|line| line.contains(code)).expect("the lesson has the line");
    format!("`write_at`, launched at host/src/lessons/errors.rs:{line}")
}

/// Everything that the lesson claims, as its document has it.
#[track_caller]
fn holds(device: &str) -> Value {
    let document = document(&format!("errors --json --order deny --device {device}"));
    let found = verdicts(&document);
    assert_eq!(found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), CHECKS);
    // That a new context helps is no promise of the driver's.
    let others = found.iter().filter(|(id, _)| id != "fault.new-context");
    assert!(others.clone().all(|(_, verdict)| verdict == "pass"), "{found:?}");
    assert_ne!(verdict(&document, "fault.new-context"), "fail");
    let codes = |calls: &Value| -> Vec<_> {
        calls.as_array().unwrap().iter().map(|call| call["code"].as_u64().unwrap()).collect()
    };
    let values = &document["values"];
    assert_eq!(codes(&values["refused"]), [1, 1, 1, 1, 1, 1, 1, 2, 400]);
    let (fault, checked) = (&values["fault"], &values["checked_fault"]);
    assert_eq!([&fault["launch"]["code"], &fault["wait"]["code"]], [0, 700]);
    assert_eq!([&checked["launch"]["code"], &checked["wait"]["code"]], [700, 700]);
    for (fault, blocking, told) in [(fault, "off", "wait"), (checked, "on", "launch")] {
        assert_eq!(fault["launch_blocking"], blocking);
        assert_eq!(codes(&fault["unrelated"]), [700; 4]);
        assert_eq!(fault["taken"], Value::from([700, 700]));
        assert!(fault[told]["error"].as_str().unwrap().contains(&place("write_at(&out, FAR")), "{fault}");
    }
    assert_eq!(values["launch_blocking"], if cfg!(debug_assertions) { "on" } else { "off" });
    document
}

#[test]
fn every_claim_holds_on_both_virtual_devices_in_both_schedules() {
    for device in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        let document = holds(device);
        assert_eq!(verdict(&document, "fault.new-context"), "pass");
        // The stream, the buffer and the module, each once.
        assert_eq!(document["values"]["fault"]["failed_releases"], 3);
    }
}

#[test]
fn the_document_does_not_depend_on_the_number_of_threads() {
    let run = |threads| text(&host(&format!("errors --json --device virtual --threads {threads}")).stdout);
    assert_eq!(run(1), run(2));
}

/// The program ends with the first error that it gets, drops everything it has, and prints nothing more.
#[track_caller]
fn a_null_store_ends_the_program(device: &str) {
    let output = host(&format!("child null-store --device {device}"));
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("(700, ") && error.contains(&place("write_at(&out, index_of_null")), "{error}");
}

#[test]
fn case_14_a_null_store_ends_the_program_with_one_line_that_names_the_launch() {
    for device in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        a_null_store_ends_the_program(device);
    }
}

/// Whether the driver of [`where_every_launch_succeeds`] launches nothing.
static SKIPS: AtomicBool = AtomicBool::new(false);

type LaunchKernel = unsafe extern "C" fn(
    CUfunction,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    CUstream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> CuResult;

/// `cuLaunchKernel` of the virtual device, which calls every launch a success.
unsafe extern "C" fn launch_anything(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: CUstream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CuResult {
    if !SKIPS.load(Ordering::Relaxed)
        && let Some(real) = virtual_gpu::driver::resolve(Symbol::cuLaunchKernel)
    {
        // SAFETY: a function of this symbol has this type.
        let real: LaunchKernel = unsafe { std::mem::transmute(real) };
        // SAFETY: the arguments are the caller's.
        _ = unsafe {
            real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, extra)
        };
    }
    CuResult::SUCCESS
}

/// The document of the lesson on a device that takes every launch.
fn where_every_launch_succeeds(skips: bool) -> Value {
    let _alone = alone();
    SKIPS.store(skips, Ordering::Relaxed);
    virtual_gpu::driver::install(virtual_gpu::card::H200, virtual_gpu::driver::Options::default());
    // SAFETY: the functions are the virtual driver's and one that passes on to it; both stay until the process ends.
    unsafe {
        cuda_driver::fill(|symbol| match symbol {
            Symbol::cuLaunchKernel => NonNull::new(launch_anything as *mut c_void),
            other => virtual_gpu::driver::resolve(other),
        });
    }
    let context = Context::open(Device::Installed(0), IMAGES).unwrap();
    let mut lab = Lab::new(&context, "errors", &common(context.opened()), Report::new(true));
    assert!(!matches!(errors::run(&mut lab, &standard()), Err(Stop::Error(_))));
    let document = serde_json::to_value(lab.finish()).unwrap();
    assert!(context.finish().is_empty());
    document
}

#[test]
fn a_device_that_takes_every_launch_and_a_child_without_a_document_fail_the_lesson() {
    // Seven launches, the last error of one of them, and a child: the tests' own program is none.
    let want = CHECKS[2..9].iter().copied().chain(["last-error.kept-until-taken", "fault.child"]);
    assert_eq!(failed(&where_every_launch_succeeds(false)), want.collect::<Vec<_>>());
}

#[test]
fn a_kernel_that_does_not_write_ends_the_lesson() {
    let document = where_every_launch_succeeds(true);
    assert_eq!(failed(&document), ["sound.result"]);
    assert!(document["values"]["refused"].is_null());
}

#[test]
fn a_wait_follows_each_launch_only_where_that_was_asked_for() {
    for (blocking, want) in
        [(None, "lll"), (Some(LaunchBlocking::Off), "lll"), (Some(LaunchBlocking::On), "lwlwlw")]
    {
        let found = on_device(Device::Virtual(Model::H200), |context| {
            blocking.into_iter().for_each(|blocking| context.set_launch_blocking(blocking));
            let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
            let out = DeviceBuffer::<u32>::new(context, "out", 4).unwrap();
            let log = streamlab::check(context, || {
                (0..3).try_for_each(|value| {
                    // SAFETY: the buffer has an element 0.
                    let call = unsafe { gpu::errors::write_at(&out, 0, value) };
                    stream.launch(LaunchConfig::new(1, 1), call)
                })
            });
            let operations = log.unwrap().program.operations;
            let letters = operations.iter().map(|operation| match operation.action {
                Action::Launch(_) => 'l',
                Action::SynchronizeStream { .. } => 'w',
                _ => '?',
            });
            letters.collect::<String>()
        });
        assert_eq!(found, want, "{blocking:?}");
    }
}

#[test]
fn a_refusal_needs_its_code_and_a_context_that_works() {
    let error = |code| {
        let (name, text, at) = (String::new(), String::new(), Location::caller());
        let (what, call, detail) = (String::new(), "cuLaunchKernel", "too many".to_owned());
        Error::Driver(Box::new(DriverError { what, call, code, name, text, at, detail }))
    };
    for (failed, works, verdict) in [
        (Some(error(1)), true, Pass),
        (Some(error(1)), false, Fail),
        (Some(error(2)), true, Fail),
        (Some(Error::NoDevice), true, Fail),
        (None, true, Fail),
    ] {
        let check = errors::survived("refused.x", "1025 threads", 1, failed.as_ref(), works);
        assert_eq!((check.id.as_str(), check.verdict), ("refused.x", verdict), "{failed:?} {works}");
    }
}

#[test]
fn the_last_error_is_there_until_it_is_taken_and_not_longer() {
    let (there, none) = (Some(1), None);
    assert_eq!(errors::last_error(1, [there; 2], [there, none]).verdict, Pass);
    for (peeked, taken) in [
        ([none, none], [there, none]),
        ([there, none], [there, none]),
        ([there; 2], [none, none]),
        ([there; 2], [there; 2]),
        ([Some(2); 2], [Some(2), none]),
    ] {
        assert_eq!(errors::last_error(1, peeked, taken).verdict, Fail, "{peeked:?} {taken:?}");
    }
}

#[test]
fn a_kernels_error_comes_with_the_wait_unless_launches_block() {
    for (launch, wait, words, verdict) in
        [(0, 700, "`k` did it", Pass), (700, 700, "k", Fail), (0, 0, "k", Fail), (0, 700, "a launch", Fail)]
    {
        assert_eq!(
            errors::reported_by_wait(launch, wait, words, "k").verdict,
            verdict,
            "{launch} {wait} {words}"
        );
    }
    for (launch, wanted, verdict) in [(700, 700, Pass), (0, 700, Fail), (0, 0, Fail)] {
        assert_eq!(errors::reported_by_launch(launch, wanted).verdict, verdict, "{launch} {wanted}");
    }
}

#[test]
fn every_call_returns_a_sticky_error_and_only_a_new_process_is_promised_to_work() {
    let both = [Some(700); 2];
    let calls = [("allocate", 700), ("launch", 700)];
    assert_eq!(errors::sticky(700, &calls, both).verdict, Pass);
    assert_eq!(errors::sticky(700, &[calls[0], ("launch", 0)], both).verdict, Fail);
    assert_eq!(errors::sticky(700, &calls, [Some(700), None]).verdict, Fail);
    assert_eq!(errors::sticky(700, &[], both).verdict, Fail);
    assert_eq!([errors::new_context(0).verdict, errors::new_context(700).verdict], [Pass, NotJudged]);
    assert_eq!([errors::unharmed(true).verdict, errors::unharmed(false).verdict], [Pass, Fail]);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_claim_holds() {
    holds("gpu");
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_case_14_a_null_store_ends_the_program_with_one_line_that_names_the_launch() {
    a_null_store_ends_the_program("gpu");
}
