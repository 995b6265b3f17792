//! Launches in flight: no wait for their stream has returned since. When a call reports a kernel that failed, it was one of
//! these, and the driver's code does not say which. It knows no driver.

use std::cell::RefCell;
use std::panic::Location;

use stream_order::program::StreamId;

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
struct Launches {
    places: Vec<Place>,
    more: bool,
}

thread_local! {
    static LAUNCHES: RefCell<Launches> = const { RefCell::new(Launches { places: Vec::new(), more: false }) };
}

/// Notes a launch of this thread.
#[track_caller]
pub fn launched(stream: StreamId, kernel: &'static str) {
    let place = Place { stream, kernel, at: Location::caller() };
    LAUNCHES.with_borrow_mut(|launches| {
        if !launches.places.contains(&place) {
            if launches.places.len() < MOST {
                launches.places.push(place);
            } else {
                launches.more = true;
            }
        }
    });
}

/// Everything on the stream is done, and nothing of it has failed.
pub fn done(stream: StreamId) {
    LAUNCHES.with_borrow_mut(|launches| launches.places.retain(|place| place.stream != stream));
}

/// Everything is done, or gone with its context.
pub fn all_done() {
    LAUNCHES.take();
}

/// The launches that a kernel's failure can be of; empty when there are none.
pub fn words() -> String {
    LAUNCHES.with_borrow(|launches| {
        let mut places: Vec<_> = launches
            .places
            .iter()
            .map(|Place { kernel, at, .. }| format!("`{kernel}`, launched at {}:{}", at.file(), at.line()))
            .collect();
        places.extend(launches.more.then(|| "others".to_owned()));
        match places.is_empty() {
            true => String::new(),
            false => format!("kernels that may have caused it: {}", places.join("; ")),
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
        assert_eq!(words(), format!("kernels that may have caused it: `k`, launched at {}:{line}", file!()));
    }

    #[test]
    fn what_a_stream_has_done_is_out_of_question() {
        all_done();
        launched(A, "first");
        launched(B, "second");
        assert!(words().contains("kernels that may have caused it: `first`") && words().contains("`second`"));
        done(A);
        assert!(words().starts_with("kernels that may have caused it: `second`"), "{}", words());
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
