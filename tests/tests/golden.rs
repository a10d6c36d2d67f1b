//! Arrays written by old releases of libtiledb, from format 1 on, read cell by cell.

use hyperslab::array::{Array, OpenOptions, Window};
use hyperslab::blocking::block_on;
use hyperslab::filter::Nonces;
use hyperslab::format::{consolidated_metadata, generic_tile};
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
use hyperslab::query::Finding;
use hyperslab::write::WriteOptions;
use hyperslab::{Context, Error};
use hyperslab_tests::case::Case;
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
        report.arrays() >= 654,
        "only {} arrays: are files missing?",
        report.arrays()
    );
    report.finish("golden");
}

/// Coordinates that a filter has rounded may lie outside the box of their tile, and some boxes by 2.1 to 2.3 are wrong.
/// What is damaged are nulls by 2.2.2, of which libtiledb wrote too many bytes.
#[test]
fn no_sound_sample_is_called_damaged() {
    let (mut files, mut damage) = (0, Vec::new());
    for release in golden::load() {
        for case in &release.cases {
            let options = OpenOptions {
                window: Window::ALL,
                key: case.key().expect("a key"),
            };
            let array = block_on(Array::open(&golden::in_memory(case), "array", &options)).expect("an array");
            let mut tell = |f: Finding| {
                files += 1;
                damage.extend(f.error.map(|e| format!("{} {}: {e}", release.library, case.name)));
            };
            block_on(array.verify(&mut tell)).expect("findings");
        }
    }
    assert!(files > 5_000, "only {files} files were read");
    damage.retain(|d: &String| !d.starts_with("2.2.2 sparse_nulls: "));
    assert!(damage.is_empty(), "{damage:#?}");
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

/// Releases before 2.0 left some cells in another order than theirs. Fragments of them that do not fit into
/// the memory are refused: a file out of order would hide it from every reader.
#[test]
fn sparse_samples_consolidate_to_the_same_cells_in_little_memory_or_not_at_all() {
    let (mut merged, mut refused) = (0, 0);
    for release in golden::load() {
        for mut case in release.cases {
            case.queries.retain(|q| q.window.is_none());
            if case.schema.kind != "sparse" || case.schema.dups || case.key.is_some() || case.queries.is_empty() {
                continue;
            }
            let label = format!("{} {}", release.library, case.name);
            let (context, outcome) = (10..=40)
                .map(|log2| consolidated(&case, 1 << log2))
                .find(is_enough)
                .expect(&label);
            match outcome {
                Ok(0) => continue,
                Ok(_) => merged += 1,
                Err(Error::LimitExceeded { .. }) => refused += 1,
                Err(e) => panic!("{label}: {e}"),
            }
            compare::check(&context, "array", &case).unwrap_or_else(|e| panic!("{label}: {e:#}"));
        }
    }
    assert!(merged >= 100, "only {merged} samples were consolidated");
    assert!(refused >= 1, "no sample is out of order");
}

/// A copy of the array, all fragments merged in so much memory, and how many were.
fn consolidated(case: &Case, memory_bytes: u64) -> (Context, Result<usize, Error>) {
    let context = golden::in_memory(case);
    let options = ConsolidateOptions {
        memory_bytes,
        ..ConsolidateOptions::new(Mode::Fragments)
    };
    let write = WriteOptions {
        timestamp_ms: 1 << 40,
        seed: [7; 32],
        sync: false,
    };
    let outcome = block_on(async {
        let array = Array::open(&context, "array", &OpenOptions::default()).await?;
        Ok(consolidate(&array, &options, &write).await?.replaced)
    });
    (context, outcome)
}

/// Whether two tiles fit into the memory.
fn is_enough((_, outcome): &(Context, Result<usize, Error>)) -> bool {
    !matches!(outcome, Err(Error::LimitExceeded { what, .. }) if what.contains("merging two fragments"))
}
