//! The driver's handles: numbers that name things. A number is never given out twice, so that a handle that is used after
//! its thing is destroyed is known for what it is.

use super::Answer;
use cuda_driver::CuResult;
use std::collections::BTreeMap;

/// Where handles begin: beyond the small numbers that name default streams, and at no address that a program has.
const FIRST: usize = 0x5_0000_0000_0000;
/// Handles are this far apart, as addresses of structures would be.
const STEP: usize = 0x40;

/// Gives out handles.
#[derive(Debug)]
pub struct Names {
    next: usize,
}

impl Default for Names {
    fn default() -> Self {
        Names { next: FIRST }
    }
}

impl Names {
    /// A handle that was never given out before.
    pub fn give(&mut self) -> usize {
        self.next += STEP;
        self.next
    }
}

/// The things of one kind, by handle.
#[derive(Debug)]
pub struct Table<T>(BTreeMap<usize, T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table(BTreeMap::new())
    }
}

impl<T> Table<T> {
    /// Puts a thing in.
    pub fn put(&mut self, handle: usize, thing: T) {
        self.0.insert(handle, thing);
    }

    /// The thing of a handle.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE` for one that names nothing of this kind, or nothing any more.
    pub fn get(&self, handle: usize) -> Answer<&T> {
        self.0.get(&handle).ok_or(CuResult::INVALID_HANDLE)
    }

    /// As [`Table::get`], to be changed.
    ///
    /// # Errors
    ///
    /// As [`Table::get`].
    pub fn get_mut(&mut self, handle: usize) -> Answer<&mut T> {
        self.0.get_mut(&handle).ok_or(CuResult::INVALID_HANDLE)
    }

    /// Takes the thing of a handle out.
    ///
    /// # Errors
    ///
    /// As [`Table::get`].
    pub fn take(&mut self, handle: usize) -> Answer<T> {
        self.0.remove(&handle).ok_or(CuResult::INVALID_HANDLE)
    }

    /// The handle of the first thing for which `is_it` says so.
    pub fn find(&self, is_it: impl Fn(&T) -> bool) -> Option<usize> {
        self.0.iter().find(|(_, thing)| is_it(thing)).map(|(&handle, _)| handle)
    }

    /// All things, by the age of their handles.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    /// Takes out all things for which `goes` says so.
    pub fn take_all(&mut self, mut goes: impl FnMut(&T) -> bool) -> Vec<T> {
        let handles: Vec<usize> =
            self.0.iter().filter(|(_, thing)| goes(thing)).map(|(&handle, _)| handle).collect();
        handles.iter().filter_map(|handle| self.0.remove(handle)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_one_thing_and_is_not_given_out_again() {
        let mut names = Names::default();
        let mut table = Table::default();
        let (first, second) = (names.give(), names.give());
        table.put(first, 'a');
        table.put(second, 'b');
        assert_eq!(table.take(first), Ok('a'));
        assert_eq!(table.get(first), Err(CuResult::INVALID_HANDLE));
        assert_eq!(table.get(second), Ok(&'b'));
        assert!(![first, second].contains(&names.give()));
    }
}
