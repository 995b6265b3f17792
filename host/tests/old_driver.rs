//! A driver that is older than launch attributes. The one test here leaves a function out of the process' table, so it has a
//! process of its own.

mod support;

use cuda_driver::Symbol;
use host::args::{self, Repeat};
use host::kernels::IMAGES;
use host::lesson::{Outcome, forkjoin, pdl};
use host::report::Report;
use host::submit::Context;
use support::driver::{self, Driver};

#[test]
fn everything_works_but_dependent_launch_which_says_what_is_missing() {
    let old = |symbol| if symbol == Symbol::cuLaunchKernelEx { None } else { driver::resolve(symbol) };
    let (repeat, report) = (Repeat { runs: Some(1), warmups: Some(0) }, Report::new(true).quiet());
    let ((diamond, pdl), driver) = driver::with_functions(old, Driver::new(), || {
        let context = Context::open(0, IMAGES).unwrap();
        let diamond = forkjoin::run(&context, &args::standard(repeat), report);
        let pdl = pdl::run(&context, &args::standard(repeat), report);
        assert!(context.finish().is_empty());
        (diamond, pdl)
    });
    assert!(diamond.unwrap().passed() && driver.leaks().is_empty());
    let error = pdl.map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(error.is_bad_input());
    for part in ["launch `combine_stage`", "cuLaunchKernelEx is not in this driver", "CUDA 11.8", "pdl.rs:"] {
        assert!(text.contains(part), "{text}");
    }
}
