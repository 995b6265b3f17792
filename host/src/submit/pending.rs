//! Launches whose kernels nobody has waited for yet. When a wait tells of a kernel that failed, it is one of these: the
//! driver's code does not say which.

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

/// Which kernel it can have been that failed; empty when nothing is pending.
pub(super) fn words() -> String {
    PENDING.with_borrow(|pending| {
        let mut places: Vec<_> = pending
            .places
            .iter()
            .map(|Place { kernel, at, .. }| format!("`{kernel}`, launched at {}:{}", at.file(), at.line()))
            .collect();
        if pending.more {
            places.push("another".to_owned());
        }
        match places.as_slice() {
            [] => String::new(),
            [one] if !pending.more => format!("the kernel that failed is {one}"),
            several => {
                format!("the kernel that failed is one of those not waited for: {}", several.join("; "))
            }
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
        assert_eq!(words(), format!("the kernel that failed is `k`, launched at {}:{line}", file!()));
    }

    #[test]
    fn what_a_stream_has_done_is_out_of_question() {
        all_done();
        launched(A, "first");
        launched(B, "second");
        assert!(words().contains("one of those not waited for: `first`") && words().contains("`second`"));
        done(A);
        assert!(words().starts_with("the kernel that failed is `second`"), "{}", words());
        done(B);
        assert_eq!(words(), "");
    }

    #[test]
    fn of_many_places_a_few_are_named_and_it_is_said_that_there_are_more() {
        all_done();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        names.into_iter().for_each(|name| launched(A, name));
        assert!(words().ends_with("; another") && words().contains("`h`") && !words().contains("`i`"));
        all_done();
    }
}
