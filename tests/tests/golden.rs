//! Reads arrays written by old releases of libtiledb, from format version 1 on, cell by cell.

use std::path::{Path, PathBuf};

use hyperslab::blocking::block_on;
use hyperslab::internals::filter::Nonces;
use hyperslab::internals::format::{consolidated_metadata, generic_tile};
use hyperslab::maintain::{ConsolidateOptions, Evolution, Mode, consolidate, evolve};
use hyperslab::schema::Attribute;
use hyperslab::{
    Array, CellCount, Context, Datatype, Error, Finding, OpenOptions, Query, Region, SnapshotOptions, Split, Window,
    WriteOptions,
};
use hyperslab_tests::case::Case;
use hyperslab_tests::hex::Hex;
use hyperslab_tests::report::Report;
use hyperslab_tests::{compare, fresh, golden};

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
        report.arrays() >= 658,
        "only {} arrays: are files missing?",
        report.arrays()
    );
    report.finish("golden");
}

/// Findings in undamaged arrays: coordinates rounded by a filter may be outside the box of their tile, and some boxes
/// by 2.1 to 2.3 are wrong. Real damage: libtiledb 2.2.2 wrote too many bytes of validity.
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

/// A token carries what each format version needs, such as the metadata files of versions 1 and 2.
#[test]
fn every_old_array_reads_the_same_through_a_snapshot() {
    let (mut read, mut cells) = (0, 0);
    for release in golden::load() {
        for case in &release.cases {
            let name = format!("{} {}", release.library, case.name);
            let (context, key) = (golden::in_memory(case), case.key().expect("a key"));
            let options = OpenOptions {
                window: Window::ALL,
                key: key.clone(),
            };
            let array = block_on(Array::open(&context, "array", &options)).expect("an array");
            let token = block_on(array.snapshot(&SnapshotOptions::default())).expect(&name);
            let same = block_on(Array::from_snapshot(&context, "array", &token, key)).expect(&name);
            assert_eq!(same.fingerprint(), array.fingerprint(), "{name}");
            let Some(written) = array.non_empty_domain() else {
                continue;
            };
            let query = Query {
                region: Region::from_box(written),
                ..Query::default()
            };
            // NaN differs from itself.
            let result = |array: &Array| format!("{:?}", block_on(array.read(&query)).map_err(|e| e.to_string()));
            assert_eq!(result(&same), result(&array), "{name}");
            let Ok(expected) = block_on(array.count(&query)) else {
                continue;
            };
            let splits = block_on(same.plan_splits(&query, 500)).expect(&name);
            let count = |split: &Split| {
                let (part, query) = same.part(split).expect(&name);
                block_on(part.count(&query)).expect(&name)
            };
            assert_eq!(splits.iter().map(count).sum::<u64>(), expected, "{name}: {splits:?}");
            (read, cells) = (read + 1, cells + expected);
        }
    }
    assert!(read > 600 && cells > 10_000, "{read} arrays, {cells} cells");
}

/// Fragments before format version 10 do not name their schema, so libtiledb cannot open such an array with two
/// schemas.
#[test]
fn old_arrays_are_kept_from_a_second_schema() {
    let (mut refused, mut evolved) = (0, 0);
    for release in golden::load() {
        for case in release.cases.iter().filter(|c| c.key().is_ok_and(|k| k.is_none())) {
            let array = block_on(Array::open(&golden::in_memory(case), "array", &OpenOptions::default()));
            let array = array.expect("an array");
            let change = Evolution {
                add: vec![Attribute::new("new one", Datatype::Int32, CellCount::ONE)],
                ..Evolution::default()
            };
            let options = WriteOptions {
                timestamp_ms: u64::MAX / 2,
                seed: [7; 32],
                sync: false,
            };
            let oldest = array.fragments().iter().map(|f| f.version.number()).min().unwrap_or(22);
            match block_on(evolve(&array, &change, &options)) {
                // In versions 10 and 11 this also applies to run-length encoded strings.
                Err(Error::Unsupported(why)) if oldest < 12 && why.contains("into a new array") => refused += 1,
                Ok(_) if oldest >= 10 => evolved += 1,
                other => panic!("{} {}: {other:?}", release.library, case.name),
            }
        }
    }
    assert!(refused > 50 && evolved > 50, "{refused} refused, {evolved} evolved");
}

/// libtiledb lists wrong positions for the footers of fragments of older versions.
#[test]
fn a_list_of_footers_that_are_elsewhere_is_left_aside() {
    for library in ["1.7.7", "2.8.3"] {
        let release = golden::load().into_iter().find(|r| r.library == library);
        let cases = release.map_or_else(Vec::new, |r| r.cases);
        let mut case = cases.into_iter().find(|c| c.name == "sparse_texts").expect("a sample");
        let folders = case
            .files
            .keys()
            .filter_map(|p| p.strip_suffix("/__fragment_metadata.tdb"));
        let names: Vec<String> = folders.map(|f| f.replace("__fragments/", "")).collect();
        let footers: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &b"not a footer"[..])).collect();
        let list = generic_tile::encode(&consolidated_metadata::encode(&footers), None, &Nonces::none());
        let path = format!("{}_17.meta", names[0]);
        case.files
            .insert(format!("__fragment_meta/{path}"), list.map(Hex).expect("a list"));
        assert!(compare::check(&golden::in_memory(&case), "array", &case).expect("the same cells") > 0);
    }
}

/// Releases before 2.0 wrote some cells out of order. Such fragments are refused if they do not fit in memory, because
/// a merge would hide the wrong order from readers.
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

/// Releases before 2.16 compare the exact URIs of fragments. With other URIs they would read cells twice, and their
/// vacuum would make that permanent.
#[test]
fn merges_name_what_they_replace_as_the_array_s_release_does() {
    for (library, is_absolute) in [("2.8.3", true), ("2.15.4", true), ("2.16.3", false), ("2.30.0", false)] {
        let release = golden::load().into_iter().find(|r| r.library == library);
        let mut merged = 0;
        for case in release.expect(library).cases {
            if case.schema.kind != "sparse" || case.key.is_some() {
                continue;
            }
            let folder = fresh(&format!("golden-{library}-{}", case.name));
            for (path, bytes) in &case.files {
                let file = folder.join("array").join(path);
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                std::fs::write(file, &bytes.0).expect("a file");
            }
            let known = vacuum_files(&folder);
            let replaced = merge(&Context::local(&folder), 1 << 30).expect(&case.name);
            if replaced == 0 {
                continue;
            }
            let root = match is_absolute {
                true => format!("file://{}/array", folder.display()),
                false => String::new(),
            };
            let new: Vec<_> = vacuum_files(&folder)
                .into_iter()
                .filter(|f| !known.contains(f))
                .collect();
            let text: String = new
                .iter()
                .map(|f| std::fs::read_to_string(f).expect("a list"))
                .collect();
            let named = |line: &str| line.starts_with(&format!("{root}/__fragments/__"));
            assert_eq!(
                text.lines().filter(|l| named(l)).count(),
                replaced,
                "{library} {}: {text}",
                case.name
            );
            merged += 1;
        }
        assert!(merged >= 3, "only {merged} samples by {library} were merged");
    }
}

/// The vacuum files of an array.
fn vacuum_files(folder: &Path) -> Vec<PathBuf> {
    let commits = std::fs::read_dir(folder.join("array/__commits")).expect("a folder");
    let files = commits.map(|e| e.expect("an entry").path());
    files.filter(|p| p.extension().is_some_and(|e| e == "vac")).collect()
}

/// Copies the array and merges all fragments with this much memory. Returns the copy and the number of fragments.
fn consolidated(case: &Case, memory_bytes: u64) -> (Context, Result<usize, Error>) {
    let context = golden::in_memory(case);
    let outcome = merge(&context, memory_bytes);
    (context, outcome)
}

/// Merges all fragments of the array with this much memory. Returns the number of fragments.
fn merge(context: &Context, memory_bytes: u64) -> Result<usize, Error> {
    let options = ConsolidateOptions {
        memory_bytes,
        ..ConsolidateOptions::new(Mode::Fragments)
    };
    let write = WriteOptions {
        timestamp_ms: 1 << 40,
        seed: [7; 32],
        sync: false,
    };
    block_on(async {
        let array = Array::open(context, "array", &OpenOptions::default()).await?;
        Ok(consolidate(&array, &options, &write).await?.replaced)
    })
}

/// Whether one tile of each fragment fits in memory.
fn is_enough((_, outcome): &(Context, Result<usize, Error>)) -> bool {
    !matches!(outcome, Err(Error::LimitExceeded { what, .. }) if what.contains("to merge these fragments"))
}
