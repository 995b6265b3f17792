//! A solution: the trigger in the kernel ahead, and the attribute on the launch behind it.

use crate::exercise::pdl::Lab;
use crate::submit::{Attributes, Error};

/// Submits the three kernels.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn submit(lab: &Lab<'_>) -> Result<(), Error> {
    let plain = lab.plain();
    let early = Attributes { programmatic_stream_serialization: Some(true), ..Attributes::default() };
    lab.stream.launch(&plain, lab.prepare())?;
    lab.stream.launch(&plain, lab.produce())?;
    lab.stream.launch(&plain.with(early), lab.combine())
}
