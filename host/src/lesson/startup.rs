//! What the first call, the first load and the first launch cost, against the second.
//!
//! Claim: a program's first calls pay for what every later one finds done: the driver is started, the context made, the PTX
//! compiled, and with lazy loading each kernel brought to the card at its first launch, which may wait for kernels that run.
//!
//! Prediction: the first load compiles, the second reads the driver's cache; a kernel's first launch takes at least as long
//! as its later ones; told to load eagerly, the driver does that with the module.
//!
//! A process starts a driver once, so each start is a process of its own, with a cache of compiled kernels that nobody else
//! uses. What is timed is the host, between the call and its return.

use serde::Serialize;

use super::first_use::{FirstUse, KernelTimes};
use super::{Gates, Lesson, Outcome, Setting};
use crate::args::{self, Child, Scene};
use crate::child::{self, ChildError, EmptyFolder};
use crate::gate::Gate;
use crate::gate::startup as gates;
use crate::report::Report;
use crate::submit::{Context, Error, LoadingMode};

/// What the lesson found, as its JSON document has it.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Startup,
    gates: Gates,
    conditions: Vec<Condition>,
}

/// Starts under the same condition.
#[derive(Debug, Serialize)]
struct Condition {
    name: &'static str,
    /// The medians.
    steps: Steps,
    starts: Vec<FirstUse>,
}

/// What each step took on the host, ns.
#[derive(Clone, Copy, Debug, Serialize)]
struct Steps {
    driver_ns: u64,
    context_ns: u64,
    module_ns: u64,
    /// The first launch of every kernel, together.
    first_launches_ns: u64,
    /// A later launch of every kernel, together.
    later_launches_ns: u64,
}

impl Lesson for args::Startup {
    const DRAWS: bool = false;

    type Findings = Findings;

    fn common(&mut self) -> &mut args::Common {
        &mut self.common
    }

    fn run(&self, context: &Context, report: Report) -> Result<Findings, Error> {
        Ok(run(context, self, report))
    }
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.gates.passed()
    }
}

/// Runs the lesson. A child that says nothing is a failed gate.
pub fn run(context: &Context, options: &args::Startup, report: Report) -> Findings {
    let mut findings = Findings {
        lesson: "startup",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        conditions: Vec::new(),
    };
    findings.setting.say(report);
    match findings.start(report) {
        Ok(()) => findings.look(report),
        Err(error) => _ = findings.gates.hold(Gate::fail(error.to_string()), report),
    }
    findings
}

/// The conditions, as the table has them.
const COLD: &str = "cold cache, lazy";
const CACHED: &str = "cached, lazy";
const EAGER: &str = "cached, eager";

impl Findings {
    /// Starts under each condition, cold ones first: the last of them leaves the cache that the others find.
    fn start(&mut self, report: Report) -> Result<(), ChildError> {
        let count = self.parameters.common.repeat.probe().runs();
        report.say(format!("starts: {count} under each condition, each in a process of its own"));
        let words = Child::words(Scene::Startup, &self.parameters.common);
        let start = |cache: &EmptyFolder, loading| {
            let variables = child::driver_variables(cache, loading);
            report.busy("the card is opened, in a process of its own", || {
                child::run::<FirstUse>(&words, &variables)
            })
        };
        let mut cache = EmptyFolder::new()?;
        let mut cold = vec![start(&cache, "LAZY")?];
        for _ in 1..count {
            cache = EmptyFolder::new()?;
            cold.push(start(&cache, "LAZY")?);
        }
        let again = |loading| (0..count).map(|_| start(&cache, loading)).collect::<Result<Vec<_>, _>>();
        let (cached, eager) = (again("LAZY")?, again("EAGER")?);
        self.conditions =
            vec![Condition::of(COLD, cold), Condition::of(CACHED, cached), Condition::of(EAGER, eager)];
        Ok(())
    }

    /// Correctness first, then the table and what is said of it.
    fn look(&mut self, report: Report) {
        let starts: Vec<_> = self.conditions.iter().flat_map(|condition| &condition.starts).collect();
        let kernels = starts.first().map_or(0, |start| start.kernels.len());
        let wrong = starts.iter().flat_map(|start| &start.kernels).map(|kernel| kernel.wrong_elements).sum();
        let right = gates::right(starts.len(), kernels, wrong);
        if !self.gates.hold(right, report) {
            return;
        }
        self.say(report);
        let [cold, cached, eager] = self.conditions.as_slice() else { return };
        let mut decided = vec![gates::cached_load(cold.steps.module_ns, cached.steps.module_ns)];
        decided
            .extend(cached.kernels().map(|(kernel, first, later)| gates::first_launch(kernel, first, later)));
        let is_eager = eager.starts.iter().all(|start| start.loading_mode == Some(LoadingMode::Eager));
        let (lazy_first, eager_first) = (cached.steps.first_launches_ns, eager.steps.first_launches_ns);
        decided.push(gates::eager_loading(is_eager, lazy_first, eager_first));
        let beside = |which: fn(&FirstUse) -> bool| cached.starts.iter().any(which);
        decided.push(gates::beside_a_running_kernel(
            beside(|start| start.beside.first_waited),
            beside(|start| start.beside.later_waited),
        ));
        for gate in decided {
            self.gates.hold(gate, report);
        }
    }

    /// The table: a line for each step, a column for each condition.
    fn say(&self, report: Report) {
        let names: Vec<_> =
            self.conditions.iter().map(|condition| format!("{:>18}", condition.name)).collect();
        report.say(format!("{:28}{}", "host time, ms (medians)", names.concat()));
        let rows = [
            "start the driver",
            "make the context",
            "load the module",
            "first launch of each kernel",
            "a later launch of each",
        ];
        let mut stands_still = false;
        for (row, name) in rows.into_iter().enumerate() {
            let cells = self.conditions.iter().map(|condition| match condition.steps.in_order()[row] {
                0 => {
                    stands_still = true;
                    format!("{:>18}", "-")
                }
                ns => format!("{:>18.3}", ns as f64 / 1e6),
            });
            let cells: String = cells.collect();
            report.time(&format!("{name:28}"), cells);
        }
        if stands_still {
            report.say("-: the clock of this card's host does not move there: such a step is not modelled");
        }
    }
}

impl Steps {
    fn in_order(&self) -> [u64; 5] {
        let Steps { driver_ns, context_ns, module_ns, first_launches_ns, later_launches_ns } = *self;
        [driver_ns, context_ns, module_ns, first_launches_ns, later_launches_ns]
    }
}

impl Condition {
    fn of(name: &'static str, starts: Vec<FirstUse>) -> Self {
        let step = |of: &dyn Fn(&FirstUse) -> u64| median(starts.iter().map(of).collect());
        let sum = |start: &FirstUse, of: fn(&KernelTimes) -> u64| start.kernels.iter().map(of).sum();
        let steps = Steps {
            driver_ns: step(&|start| start.opening.driver_ns),
            context_ns: step(&|start| start.opening.context_ns),
            module_ns: step(&|start| start.opening.module_ns),
            first_launches_ns: step(&|start| sum(start, |kernel| kernel.first_ns)),
            later_launches_ns: step(&|start| sum(start, |kernel| median(kernel.later_ns.clone()))),
        };
        Condition { name, steps, starts }
    }

    /// Each kernel, and the medians of its first launch and of its later ones over all starts.
    fn kernels(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let of = |index: usize| self.starts.iter().filter_map(move |start| start.kernels.get(index));
        let first = self.starts.first().map(|start| start.kernels.as_slice()).unwrap_or_default();
        first.iter().enumerate().map(move |(index, KernelTimes { kernel, .. })| {
            let firsts = median(of(index).map(|times| times.first_ns).collect());
            let laters = median(of(index).flat_map(|times| times.later_ns.iter().copied()).collect());
            (kernel.as_str(), firsts, laters)
        })
    }
}

/// The middle one, of an even number the greater of the two in the middle; 0 of none.
fn median(mut times_ns: Vec<u64>) -> u64 {
    times_ns.sort_unstable();
    times_ns.get(times_ns.len() / 2).copied().unwrap_or_default()
}
