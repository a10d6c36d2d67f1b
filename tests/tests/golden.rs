//! Arrays written by old releases of libtiledb, from format 1 on, read cell by cell.

use hyperslab_tests::report::Report;
use hyperslab_tests::{compare, golden};

#[test]
fn every_old_array_reads_as_libtiledb_reads_it() {
    let mut report = Report::default();
    for release in golden::load() {
        for case in &release.cases {
            let context = golden::in_memory(case);
            let outcome = compare::check(&context, "array", case).map_err(|e| format!("{e:#}"));
            let tags = [format!("library {}", release.library), format!("kind {}", case.name)];
            report.add(&format!("{} {}", release.library, case.name), &tags, outcome);
        }
    }
    assert!(
        report.arrays() >= 640,
        "only {} arrays: are files missing?",
        report.arrays()
    );
    report.finish("golden");
}
