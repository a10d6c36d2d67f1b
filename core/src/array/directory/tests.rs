use super::*;

/// Entries from names: `name` is a file, `name/` is a folder, and `#` is replaced by a uuid.
fn entries(names: &[&str]) -> Vec<Entry> {
    let entry = |name: &&str| match name.strip_suffix('/') {
        Some(dir) => Entry {
            name: full(dir),
            kind: EntryKind::Dir,
        },
        None => Entry {
            name: full(name),
            kind: EntryKind::File(None),
        },
    };
    names.iter().map(entry).collect()
}

fn full(name: &str) -> String {
    name.replace('#', "0123456789abcdef0123456789abcdef")
}

fn short(name: &str) -> String {
    name.replace("0123456789abcdef0123456789abcdef", "#")
}

fn window(start_ms: u64, end_ms: u64) -> Window {
    Window { start_ms, end_ms }
}

fn commits(names: &[&str]) -> Listing {
    Listing {
        commits: entries(names),
        ..Listing::default()
    }
}

fn fetched(files: &[(&str, &str)]) -> Vec<(String, Bytes)> {
    files
        .iter()
        .map(|(path, text)| (full(path), Bytes::from(full(text))))
        .collect()
}

fn visible(listing: &Listing, fetched: &[(String, Bytes)], window: Window, sparse: bool) -> Result<Visible> {
    Committed::read(listing, fetched)?.visible(window, sparse)
}

#[track_caller]
fn check(listing: &Listing, files: &[(&str, &str)], window: Window, sparse: bool, expect: &[&str]) {
    let visible = visible(listing, &fetched(files), window, sparse).unwrap();
    let got: Vec<_> = visible.fragments.iter().map(|f| short(&f.path)).collect();
    assert_eq!(got, expect);
}

#[test]
fn fragments_are_sorted_by_time_and_then_by_name() {
    let listing = commits(&["__9_9_#_22.wrt", "__10_10_#_22.wrt", "__9_9_ff_22.wrt", ".hidden.wrt"]);
    let expect = [
        "__fragments/__9_9_#_22",
        "__fragments/__9_9_ff_22",
        "__fragments/__10_10_#_22",
    ];
    check(&listing, &[], Window::ALL, true, &expect);
}

#[test]
fn consolidated_commits_come_first_among_equal_times() {
    let listing = commits(&[
        "__9_9_#_22.wrt",
        "__9_12_ee_22.wrt",
        "__9_9_ff_22.wrt",
        "__8_8_#_22.wrt",
        "__9_12_#_22.con",
    ]);
    let list = "__commits/__9_9_ff_22.wrt\n__commits/__9_12_ee_22.wrt\n";
    let expect = ["__8_8_#_22", "__9_12_ee_22", "__9_9_ff_22", "__9_9_#_22"].map(|n| format!("__fragments/{n}"));
    let expect: Vec<&str> = expect.iter().map(String::as_str).collect();
    check(
        &listing,
        &[("__commits/__9_12_#_22.con", list)],
        Window::ALL,
        true,
        &expect,
    );
}

#[test]
fn sparse_fragments_may_overlap_the_window_but_dense_ones_may_not() {
    let listing = commits(&["__1_4_#_22.wrt", "__5_5_#_22.wrt", "__1_4_#_14.wrt"]);
    check(&listing, &[], window(0, 3), true, &["__fragments/__1_4_#_22"]);
    check(&listing, &[], window(0, 3), false, &[]);
    check(
        &listing,
        &[],
        window(0, 4),
        false,
        &["__fragments/__1_4_#_14", "__fragments/__1_4_#_22"],
    );
    check(&listing, &[], window(5, 5), false, &["__fragments/__5_5_#_22"]);
}

#[test]
fn a_visible_vacuum_file_hides_the_consolidated_fragments() {
    let listing = commits(&["__1_1_#_22.wrt", "__2_2_#_22.wrt", "__1_2_#_22.wrt", "__1_2_#_22.vac"]);
    let vac = [(
        "__commits/__1_2_#_22.vac",
        "/__fragments/__1_1_#_22\nfile:///old/__fragments/__2_2_#_22\n",
    )];
    check(&listing, &vac, Window::ALL, false, &["__fragments/__1_2_#_22"]);
    check(&listing, &vac, window(0, 1), false, &["__fragments/__1_1_#_22"]);
    check(&listing, &vac, window(0, 1), true, &["__fragments/__1_2_#_22"]);
}

#[test]
fn consolidated_commits_count_unless_they_are_ignored() {
    let listing = commits(&["__1_2_#_22.con", "__0_0_#_22.ign", "__3_3_#_22.wrt"]);
    let files = [
        (
            "__commits/__1_2_#_22.con",
            "__commits/__1_1_#_22.wrt\n__commits/__2_2_#_22.wrt\n__commits/__3_3_#_22.wrt\n",
        ),
        ("__commits/__0_0_#_22.ign", "__commits/__1_1_#_22.wrt\n"),
    ];
    check(
        &listing,
        &files,
        Window::ALL,
        false,
        &["__fragments/__2_2_#_22", "__fragments/__3_3_#_22"],
    );
    let fetch: Vec<_> = listing.to_fetch().iter().map(|p| short(p)).collect();
    assert_eq!(fetch, ["__commits/__1_2_#_22.con", "__commits/__0_0_#_22.ign"]);
}

#[test]
fn old_fragments_are_in_the_root() {
    let root = [
        "__array_schema.tdb",
        "__lock.tdb",
        "__meta/",
        "__fragment_meta/",
        "__1_1_#_9/",
        "__1_1_#_9.ok",
        "__2_2_#_9/",
        "__3_3_#_11/",
        "__4_4_#/",
        "__#_1561492235844/",
    ];
    let listing = Listing {
        root: entries(&root),
        ..Listing::default()
    };
    let con = [("__commits/__3_3_#_22.con", "__3_3_#_11.ok\n")];
    let visible = visible(&listing, &fetched(&con), Window::ALL, false).unwrap();
    let got: Vec<_> = visible
        .fragments
        .iter()
        .map(|f| (short(&f.path), f.version.number(), f.unmarked))
        .collect();
    let expect = [
        ("__1_1_#_9", 9, false),
        ("__3_3_#_11", 11, false),
        ("__4_4_#", 4, true),
        ("__#_1561492235844", 2, true),
    ];
    assert_eq!(got, expect.map(|(p, v, u)| (p.to_owned(), v, u)));
}

#[test]
fn a_fragment_of_a_newer_version_is_an_error_only_if_visible() {
    let listing = commits(&["__5_5_#_99.wrt"]);
    assert_eq!(
        visible(&listing, &[], Window::ALL, true).unwrap_err().code(),
        "UnsupportedVersion"
    );
    check(&listing, &[], window(0, 4), true, &[]);
    let nonsense = commits(&["__5_5_#_447.wrt"]);
    let error = visible(&nonsense, &[], Window::ALL, true).unwrap_err();
    assert_eq!(error.code(), "Corrupt");
    assert!(
        error
            .to_string()
            .contains("there is no version 447; the newest is 22 (if it does not belong to the array, move it")
    );
}

#[test]
fn deletes_and_updates_are_found_in_their_own_and_in_consolidated_files() {
    let listing = commits(&[
        "__1_2_#_22.con",
        "__3_3_#_22.del",
        "__2_2_#_22.del",
        "__4_4_#_22.upd",
        "__9_9_#_22.del",
    ]);
    let mut con = full("__commits/__1_1_#_22.wrt\n__commits/__2_2_#_22.del\n").into_bytes();
    con.extend_from_slice(&3_u64.to_le_bytes());
    let start = con.len();
    con.extend_from_slice(b"x\ny");
    let files = [
        (full("__commits/__1_2_#_22.con"), Bytes::from(con)),
        (
            full("__commits/__1_1_#_22.ign"),
            Bytes::from(full("__commits/__2_2_#_22.del\n")),
        ),
    ];
    let deletes = visible(&listing, &files, window(0, 5), true).unwrap().deletes;
    assert_eq!(deletes.iter().map(|d| d.time_ms).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(
        deletes[0].source,
        DeleteSource::Embedded {
            path: files[0].0.clone(),
            range: start..start + 3
        }
    );
    assert_eq!(deletes[1].source, DeleteSource::File);
    assert!(deletes[2].path.ends_with(".upd"));
}

#[test]
fn the_schema_is_the_last_in_time() {
    let names = ["__enumerations/", "__1000_1000_#", "__3000_3000_#", "__2000_2000_#"];
    let mut listing = Listing {
        schema: entries(&names),
        ..Listing::default()
    };
    let at = |listing: &Listing, t| listing.schema_at(Window::at(t)).map(|s| short(&s));
    assert_eq!(at(&listing, 2500), Some("__schema/__2000_2000_#".into()));
    assert_eq!(at(&listing, u64::MAX), Some("__schema/__3000_3000_#".into()));
    assert_eq!(at(&listing, 5), Some("__schema/__1000_1000_#".into()));
    listing.root = entries(&["__array_schema.tdb"]);
    assert_eq!(at(&listing, 5), Some("__array_schema.tdb".into()));
    assert_eq!(at(&listing, 2500), Some("__schema/__2000_2000_#".into()));
    assert_eq!(listing.schemas().len(), 4);
    assert_eq!(
        (at(&Listing::default(), 5), Listing::default().is_array()),
        (None, false)
    );
}

#[test]
fn sparseness_matters_only_if_a_fragment_is_partly_in_the_window() {
    let listing = commits(&["__1_1_#_22.wrt", "__2_5_#_22.wrt"]);
    let vac = fetched(&[("__commits/__6_8_#_22.vac", "__fragments/__6_6_#_22\n")]);
    let straddles = |end_ms| Committed::read(&listing, &vac).unwrap().straddles(window(0, end_ms));
    assert_eq!(
        [1, 2, 4, 5, 6, 7, 8].map(straddles),
        [false, true, true, false, true, true, false]
    );
    assert!(!Committed::read(&listing, &vac).unwrap().straddles(Window::ALL));
    let old = commits(&["__2_5_#_11.wrt"]);
    assert!(!Committed::read(&old, &[]).unwrap().straddles(window(0, 3)));
}

#[test]
fn metadata_must_be_inside_the_window() {
    let names = ["__1_1_#", "__2_2_#", "__1_2_#", "__1_2_#.vac", "__3_3_#"];
    let listing = Listing {
        meta: entries(&names),
        ..Listing::default()
    };
    let vac = fetched(&[("__meta/__1_2_#.vac", "/__meta/__1_1_#\n/__meta/__2_2_#\n")]);
    let at = |t| {
        visible(&listing, &vac, Window::at(t), true)
            .unwrap()
            .metadata
            .iter()
            .map(|p| short(p))
            .collect::<Vec<_>>()
    };
    assert_eq!(at(3), ["__meta/__1_2_#", "__meta/__3_3_#"]);
    assert_eq!(at(1), ["__meta/__1_1_#"]);
    assert_eq!(
        listing.to_fetch().iter().map(|p| short(p)).collect::<Vec<_>>(),
        ["__meta/__1_2_#.vac"]
    );
}

#[test]
fn consolidated_metadata_is_found_in_both_folders() {
    let listing = Listing {
        root: entries(&["__1_1_#_9.meta"]),
        fragment_meta: entries(&["__1_1_#_22.meta"]),
        ..Listing::default()
    };
    let found = listing.consolidated_metadata();
    assert_eq!(
        found.iter().map(|p| short(p)).collect::<Vec<_>>(),
        ["__fragment_meta/__1_1_#_22.meta", "__1_1_#_9.meta"]
    );
}

#[test]
fn a_folder_in_place_of_a_file_is_an_error() {
    let mut listing = commits(&["__1_1_#_22.wrt", "__2_2_#_22.del"]);
    listing.schema = entries(&["__1_1_#", "__enumerations/"]);
    listing.check_kinds("a").unwrap();
    for (commit, schema) in [("__2_2_#_22.del/", "__1_1_#"), ("__2_2_#_22.del", "__1_1_#/")] {
        listing.commits = entries(&["__1_1_#_22.wrt", commit]);
        listing.schema = entries(&[schema, "__enumerations/"]);
        let error = listing.check_kinds("a").unwrap_err().to_string();
        assert!(
            error.contains("folder in place of a file") && error.contains("a/__"),
            "{error}"
        );
    }
}
