//! The matrix, one way: libtiledb writes every kind of array, Hyperslab reads each cell of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod matrix;

use hyperslab::Context;
use hyperslab_tests::case::Case;
use hyperslab_tests::compare;

#[test]
fn what_libtiledb_writes_reads_alike() {
    let matrix = matrix::generated();
    let context = Context::local(&matrix.folder);
    matrix.check("matrix: written by libtiledb, read by Hyperslab", |case: &Case| {
        compare::check(&context, &case.name, case)
    });
}
