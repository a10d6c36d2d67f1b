//! Arrays written by old releases of libtiledb, from format 1 on, read cell by cell.

use hyperslab::filter::Nonces;
use hyperslab::format::{consolidated_metadata, generic_tile};
use hyperslab_tests::hex::Hex;
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

/// libtiledb lists the footers of fragments older than version 5 at places where they are not.
#[test]
fn a_list_with_footers_of_the_oldest_fragments_is_left_aside() {
    let release = golden::load().into_iter().find(|r| r.library == "1.7.7");
    let cases = release.map_or_else(Vec::new, |r| r.cases);
    let mut case = cases.into_iter().find(|c| c.name == "sparse_texts").expect("a sample");
    let folders = case
        .files
        .keys()
        .filter_map(|p| p.strip_suffix("/__fragment_metadata.tdb"));
    let names: Vec<String> = folders.map(str::to_owned).collect();
    let footers: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &b"not a footer"[..])).collect();
    let list = generic_tile::encode(&consolidated_metadata::encode(&footers), None, &Nonces::none());
    let path = format!("{}_17.meta", names[0]);
    case.files
        .insert(format!("__fragment_meta/{path}"), list.map(Hex).expect("a list"));
    assert!(compare::check(&golden::in_memory(&case), "array", &case).expect("the same cells") > 0);
}
