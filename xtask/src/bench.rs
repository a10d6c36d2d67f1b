//! The benchmarks.

use crate::run::{self, Outcome, cargo};

/// The command `bench`: the benchmarks of the tests package, in an optimised build.
///
/// # Errors
/// A benchmark could not be built or run.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut c = cargo(&["bench", "--package", "hyperslab-tests", "--"]);
    run::run(c.args(args))
}
