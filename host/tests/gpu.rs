//! What only a GPU can show: `cargo test -p host -- --ignored gpu`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use clap::Parser;
use host::args::{self, Cli, Command, ForkJoin, Repeat};
use host::kernels::IMAGES;
use host::lesson::{Outcome, forkjoin, pdl, streams};
use host::report::Report;
use host::submit::{Buffer, Context, Error, Launch, Stream, StreamKind, open_driver};

const REPEAT: Repeat = Repeat { runs: Some(5), warmups: Some(2) };

fn on_gpu<T>(test: impl FnOnce(&Context) -> T) -> T {
    card::on_card(&options("--device gpu").common, test)
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
fn gpu_every_gate_of_the_streams_lesson_passes() {
    on_gpu(|context| {
        let findings = streams::run(context, &args::standard(REPEAT), Report::new(true)).unwrap();
        assert!(findings.passed());
    });
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_dependent_launch_changes_no_bit_on_any_grid_with_the_trigger_anywhere() {
    on_gpu(|context| {
        let options = args::Pdl { sweep: true, pairs: 8, ..args::standard(REPEAT) };
        match pdl::run(context, &options, Report::new(true)) {
            Ok(findings) => assert!(findings.passed()),
            Err(Error::Unsupported { .. }) => assert!(context.card().compute_capability < (9, 0)),
            Err(other) => panic!("{other}"),
        }
    });
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_sweeps_are_right_for_every_remainder_and_reach_no_element_of_another() {
    on_gpu(|context| {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
        let input: Vec<f32> = (0..5000).map(|i| i as f32).collect();
        let (from, to) =
            (Buffer::from_slice(context, "from", &input).unwrap(), Buffer::new(context, "to", 5000).unwrap());
        for elems in (1..40).chain([1023, 1024, 4097, 4999, 5000]) {
            stream.zero(&to).unwrap();
            let (some, rest) = (from.first(elems), to.first(elems));
            stream.launch(&Launch::new(3, 64), gpu::streams::sweep_scale(&some, &rest)).unwrap();
            stream.synchronize().unwrap();
            let mut got = vec![1.0; 5000];
            to.copy_to(&mut got).unwrap();
            let want = |i: usize| if i < elems { 2.0 * i as f32 } else { 0.0 };
            assert!(got.iter().enumerate().all(|(i, &got)| got == want(i)), "{elems} elements");
        }
    });
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_image_that_the_card_can_run_loads() {
    let _alone = card::alone();
    for image in IMAGES {
        open_driver(&options("--device gpu").common).unwrap();
        let context = Context::open(0, std::slice::from_ref(image));
        match context {
            Ok(context) => assert!(context.finish().is_empty()),
            Err(Error::CardTooOld { capability, needs, .. }) => assert!(capability < needs),
            Err(other) => panic!("{}: {other}", image.arch),
        }
    }
}
