//! Launches that are not known to be done: no wait for their stream has returned since. When a call tells of a kernel that
//! failed, it was one of these, and the driver's code does not say which.

use std::cell::RefCell;
use std::panic::Location;

use super::StreamId;

/// Places in a program that are kept at most; a loop's launches are one.
const MOST: usize = 8;

/// A place that launches a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    stream: StreamId,
    kernel: &'static str,
    at: &'static Location<'static>,
}

/// The places, oldest first, and whether there were more.
#[derive(Debug, Default)]
struct Pending {
    places: Vec<Place>,
    more: bool,
}

thread_local! {
    static PENDING: RefCell<Pending> = const { RefCell::new(Pending { places: Vec::new(), more: false }) };
}

/// Notes a launch of this thread.
#[track_caller]
pub(super) fn launched(stream: StreamId, kernel: &'static str) {
    let place = Place { stream, kernel, at: Location::caller() };
    PENDING.with_borrow_mut(|pending| {
        if !pending.places.contains(&place) {
            if pending.places.len() < MOST {
                pending.places.push(place);
            } else {
                pending.more = true;
            }
        }
    });
}

/// Everything on the stream is done, and nothing of it has failed.
pub(super) fn done(stream: StreamId) {
    PENDING.with_borrow_mut(|pending| pending.places.retain(|place| place.stream != stream));
}

/// Everything is done, or gone with its context.
pub(super) fn all_done() {
    PENDING.take();
}

/// The launches that a kernel's failure can be of; empty when there are none.
pub(super) fn words() -> String {
    PENDING.with_borrow(|pending| {
        let mut places: Vec<_> = pending
            .places
            .iter()
            .map(|Place { kernel, at, .. }| format!("`{kernel}`, launched at {}:{}", at.file(), at.line()))
            .collect();
        places.extend(pending.more.then(|| "others".to_owned()));
        match places.is_empty() {
            true => String::new(),
            false => format!("not known to be done: {}", places.join("; ")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StreamId = StreamId(1);
    const B: StreamId = StreamId(2);

    #[test]
    fn a_single_launch_is_named_with_its_place_and_a_loop_is_one_place() {
        all_done();
        assert_eq!(words(), "");
        for _ in 0..3 {
            launched(A, "k");
        }
        let line = line!() - 2;
        assert_eq!(words(), format!("not known to be done: `k`, launched at {}:{line}", file!()));
    }

    #[test]
    fn what_a_stream_has_done_is_out_of_question() {
        all_done();
        launched(A, "first");
        launched(B, "second");
        assert!(words().contains("not known to be done: `first`") && words().contains("`second`"));
        done(A);
        assert!(words().starts_with("not known to be done: `second`"), "{}", words());
        done(B);
        assert_eq!(words(), "");
    }

    #[test]
    fn of_many_places_a_few_are_named_and_it_is_said_that_there_are_more() {
        all_done();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        names.into_iter().for_each(|name| launched(A, name));
        assert!(words().ends_with("; others") && words().contains("`h`") && !words().contains("`i`"));
        all_done();
    }
}
