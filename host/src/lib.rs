//! The laboratory's host side, in reading order: what was typed ([`args`]), the kernels' PTX ([`kernels`]), the
//! submission layer ([`submit`]), the lessons ([`lesson`]) with their reference, statistics and gates, and what a
//! person or a program gets to read ([`report`]).
//!
//! A lesson sees the submission layer and never a `cu*` function; only [`report`] prints.

pub mod args;
pub mod band;
pub mod child;
pub mod compare;
pub mod doctor;
pub mod draft;
pub mod exercise;
pub mod gate;
pub mod kernels;
pub mod lesson;
pub mod measure;
pub mod order;
pub mod reference;
pub mod report;
pub mod submit;
