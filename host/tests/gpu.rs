//! What only a GPU can show: `cargo test -p host -- --ignored gpu`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use clap::Parser;
use host::args::{Cli, Command, ForkJoin};
use host::kernels::IMAGES;
use host::lesson::{Outcome, forkjoin};
use host::report::Report;
use host::submit::{Context, Error, Event, Stream, StreamKind, open_driver};

fn on_gpu<T>(test: impl FnOnce(&Context) -> T) -> T {
    open_driver().unwrap();
    let context = Context::open(0, IMAGES).unwrap();
    let outcome = test(&context);
    let released = context.finish();
    assert!(released.is_empty(), "{released:?}");
    outcome
}

fn options(typed: &str) -> ForkJoin {
    let words = ["host", "forkjoin", "--json"].into_iter().chain(typed.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Forkjoin(options) => options,
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_gate_of_the_lesson_passes() {
    for typed in ["", "--branches 1", "--branches 7", "--elems 1000003 --blocks 3", "--elems 1 --iters 1"] {
        on_gpu(|context| {
            let findings = forkjoin::run(context, &options(typed), Report::new(true)).unwrap();
            assert!(findings.passed(), "{typed}");
            let document = serde_json::to_value(&findings).unwrap();
            assert_eq!(
                document["diamond_result"]["bit_identical"], document["parameters"]["elems"],
                "{typed}"
            );
        });
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_image_that_the_card_can_run_loads() {
    for image in IMAGES {
        open_driver().unwrap();
        let context = Context::open(0, std::slice::from_ref(image));
        match context {
            Ok(context) => assert!(context.finish().is_empty()),
            Err(Error::CardTooOld { capability, needs, .. }) => assert!(capability < needs),
            Err(other) => panic!("{}: {other}", image.arch),
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_an_untimed_and_an_unrecorded_event_have_one_code_and_two_explanations() {
    on_gpu(|context| {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
        let (start, stop) =
            (Event::timing(context, "start").unwrap(), Event::timing(context, "stop").unwrap());
        let order = Event::ordering(context, "order").unwrap();
        stream.record(&start).unwrap();
        stream.record(&order).unwrap();
        stream.synchronize().unwrap();
        for (stop, why) in [(&stop, "`stop` was never recorded"), (&order, "`order` was made for ordering")] {
            let Err(Error::Driver(error)) = Event::elapsed_ms(&start, stop) else { panic!("a time") };
            assert_eq!((error.code, error.name.as_str()), (400, "CUDA_ERROR_INVALID_HANDLE"));
            assert!(error.detail.contains(why), "{error}");
        }
        stream.record(&stop).unwrap();
        stop.synchronize().unwrap();
        assert!(Event::elapsed_ms(&start, &stop).unwrap() >= 0.0);
        assert_eq!(Event::elapsed_ms(&start, &start).unwrap(), 0.0);
    });
}
