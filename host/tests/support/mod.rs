//! What the tests of the lessons share: a driver in place of the real one.

#![allow(dead_code, reason = "each test binary uses its part of it")]

pub mod driver;
mod kernels;
