//! What a lesson does in a process of its own. The document of each scene is what the lesson reads.

use serde::Serialize;

use super::{fault, first_use};
use crate::args::{Child, Scene};
use crate::submit::{Checks, Error, open_driver};

/// What happened, for the lesson that started the child.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Document {
    /// Of a kernel that failed.
    Fault(Box<fault::Fault>),
    /// Of a kernel that wrote to this address, and nothing was said of it.
    Written {
        /// The address.
        address: u64,
    },
    /// Of a card that was opened.
    FirstUse(Box<first_use::FirstUse>),
}

/// Runs the scene.
///
/// # Errors
///
/// Those that the scene is not about.
pub fn run(options: &Child) -> Result<Document, Error> {
    let ordinal = open_driver(&options.common)?.ordinal;
    let fault = |checks| fault::run(ordinal, checks).map(Box::new).map(Document::Fault);
    match options.scene {
        Scene::Fault => fault(Checks::WhereTheProgramWaits),
        Scene::CheckedFault => fault(Checks::AfterEachLaunch),
        Scene::NullStore => fault::store_to_null(ordinal).map(|()| Document::Written { address: 0 }),
        Scene::Startup => first_use::run(ordinal).map(Box::new).map(Document::FirstUse),
    }
}
