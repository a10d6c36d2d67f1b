//! Reading the matrix: libtiledb writes every kind of array, and Hyperslab reads every cell of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod matrix;

use hyperslab::Context;
use hyperslab_tests::case::Case;
use hyperslab_tests::compare;

/// The least number of aggregates compared with libtiledb.
const AGGREGATES_MIN: usize = 5_000;

#[test]
fn hyperslab_reads_what_libtiledb_writes() {
    let matrix = matrix::generated();
    let context = Context::local(&matrix.folder);
    let asked = matrix
        .cases
        .iter()
        .flat_map(|c| &c.queries)
        .filter_map(|q| q.aggregates.as_ref());
    let aggregates: usize = asked.flat_map(|fields| fields.values()).map(|said| said.len()).sum();
    println!("matrix: {aggregates} of libtiledb's own aggregates among the questions");
    assert!(aggregates > AGGREGATES_MIN, "only {aggregates} aggregates");
    matrix.check("matrix: written by libtiledb, read by Hyperslab", |case: &Case| {
        compare::check(&context, &case.name, case)
    });
}
