//! What is found in a log, in words: what was not submitted, where the host waits, and the critical path with its needless edge.

use std::collections::HashMap;

use stream_order::program::{Action, Mode, Operation, StreamId, StreamKind};
use stream_order::{CriticalPath, Needless};
use streamlab::Log;

use crate::task::Write;

/// A path of more operations than this is told by its streams.
const MOST_TOLD: usize = 5;

/// Returns a phrase for each buffer that was not written as often as it has to be.
pub fn undone(writes: &[Write], log: &Log) -> Vec<String> {
    let mut written: HashMap<&str, usize> = HashMap::new();
    for operation in log.work().into_iter().map(|at| &log.program.operations[at]) {
        for (span, _) in operation.action.spans().filter(|(_, mode)| *mode == Mode::Write) {
            *written.entry(log.buffer_name(span.buffer)).or_default() += 1;
        }
    }
    let times = |write: &Write| written.get(write.buffer.as_str()).copied().unwrap_or(0);
    let (never, others): (Vec<_>, Vec<_>) =
        writes.iter().filter(|write| times(write) != write.times).partition(|write| times(write) == 0);
    let names: Vec<_> = never.iter().map(|write| format!("`{}`", write.buffer)).collect();
    let never = match (names.as_slice(), never.first()) {
        ([one], Some(write)) => Some(format!("{one} is never written: `{}` is missing", write.call)),
        ([names @ .., last], Some(write)) => {
            let names = names.join(", ");
            Some(format!("{names} and {last} are never written: `{}` is missing, and so on", write.call))
        }
        _ => None,
    };
    let others = others.into_iter().map(|write| {
        let Write { buffer, times: right, call } = write;
        let found = host::check::count(times(write), "time", "times");
        format!("`{buffer}` is written {found}, expected {right}: `{call}`")
    });
    never.into_iter().chain(others).collect()
}

/// Returns the lines on which the host waits: in a call for that, or in a copy that is not asynchronous.
pub fn host_waits(log: &Log) -> Vec<String> {
    let waits = |operation: &Operation| match &operation.action {
        Action::SynchronizeStream { .. } | Action::SynchronizeEvent { .. } | Action::SynchronizeDevice => {
            true
        }
        Action::Copy(copy) => !copy.is_async,
        _ => false,
    };
    let operations = log.program.operations.iter().enumerate();
    operations.filter(|(_, operation)| waits(operation)).map(|(at, _)| log.place(at)).collect()
}

/// Returns the operations of a path, each with its stream.
pub fn chain(log: &Log, path: &CriticalPath) -> String {
    let on = |at: usize| stream(log, at).map_or("?", |(name, _)| name);
    if path.operations.len() > MOST_TOLD {
        let runs = path.operations.chunk_by(|one, next| on(*one) == on(*next));
        return runs.map(|run| format!("{} on `{}`", run.len(), on(run[0]))).collect::<Vec<_>>().join(", ");
    }
    let told = path.operations.iter().map(|&at| format!("`{}` on `{}`", written(log, at), on(at)));
    told.collect::<Vec<_>>().join(", ")
}

/// Returns the line that makes an edge which is not needed, and between what.
pub fn needless(log: &Log, needless: &Needless) -> String {
    let Needless { made_by, awaited, waiting, .. } = *needless;
    let place = log.place(made_by);
    let before = written(log, awaited);
    if made_by != waiting {
        let who = stream(log, made_by).map_or_else(|| "the host".to_owned(), |(name, _)| format!("`{name}`"));
        return format!("{place} makes {who} wait for `{before}`");
    }
    let what = match &log.program.operations[waiting].action {
        Action::Copy(_) => format!("the copy to `{}`", written(log, waiting)),
        Action::Memset(_) => format!("the memset of `{}`", written(log, waiting)),
        _ => format!("the kernel that writes `{}`", written(log, waiting)),
    };
    let (Some((to, kind)), Some((from, _))) = (stream(log, waiting), stream(log, awaited)) else {
        return format!("{place} makes {what} wait for `{before}`");
    };
    match kind {
        _ if to == from => format!("{place} puts {what} into `{to}`, where it waits for `{before}`"),
        StreamKind::Legacy => {
            format!(
                "{place} puts {what} into `{to}`, the legacy default stream, which waits for `{before}` on `{from}`"
            )
        }
        _ => format!(
            "{place} puts {what} into `{to}`, a blocking stream, which waits for `{before}` on `{from}`"
        ),
    }
}

/// Returns the name and the kind of the stream that an operation is in.
fn stream(log: &Log, at: usize) -> Option<(&str, StreamKind)> {
    let id: StreamId = log.program.operations[at].action.stream()?;
    let declared = log.program.streams.iter().find(|stream| stream.id == id);
    Some((log.stream_name(id), declared.map_or(StreamKind::Blocking, |stream| stream.kind)))
}

/// Returns the name of the buffer that an operation writes.
fn written(log: &Log, at: usize) -> &str {
    let mut spans = log.program.operations[at].action.spans();
    spans.find(|(_, mode)| *mode == Mode::Write).map_or("?", |(span, _)| log.buffer_name(span.buffer))
}
