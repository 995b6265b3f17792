//! The laboratory behind the `host` command: lessons, exercises and what they share.
//!
//! Every lesson runs on `streamlab`, which knows none of them. The kernels are the crate `gpu`'s, compiled to PTX by the build
//! script and embedded here.

pub mod check;
pub mod child;
pub mod cli;
pub mod compare;
pub mod doctor;
pub mod document;
pub mod draft;
pub mod exercise;
pub mod kernels;
pub mod lab;
pub mod lessons;
pub mod measure;
pub mod new;
pub mod overlap;
pub mod reference;
pub mod report;
pub mod session;
