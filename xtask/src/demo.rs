//! The demo: real arrays, mounted as a folder and shown in a browser.

use crate::run::Outcome;

/// The command `demo`.
///
/// # Errors
/// Something could not be built or started.
pub(crate) fn run(_args: &[String]) -> Outcome {
    Err("the demo is not there yet".into())
}
