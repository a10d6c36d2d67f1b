//! The view of arrays at other times, and writes while it is open.

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete, vacuum};
use hyperslab::schema::Layout;
use hyperslab::vfs::{ManifestVfs, manifest};
use hyperslab::view::{NodeKind, Source, View};
use hyperslab::{Array, Cells, Column, Context, Datatype, OpenOptions, Window, WriteOptions};

use super::{NOW_MS, file, names, refusal, value, view, write};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn the_past_stays_readable() {
    let view = view();
    let first = |path: &str| file(&view, path)[..2].to_vec();
    assert_eq!(first("grids/dense/slices/v@all.bin"), (-1_i16).to_le_bytes());
    for time in ["1000ms", "1999ms", "1970-01-01T00:00:01"] {
        assert_eq!(
            first(&format!("grids/dense/at/{time}/slices/v@all.bin")),
            value(0, 0).to_le_bytes(),
            "{time}"
        );
    }
    assert!(refusal(&view, "grids/dense/at/yesterday").contains("is not a time"));
}

#[test]
fn writes_are_found_by_number_and_by_time() {
    let view = view();
    let first = |path: &str| file(&view, &format!("grids/dense/{path}/slices/v@all.bin"))[..2].to_vec();
    assert_eq!(first("at/latest"), (-1_i16).to_le_bytes());
    assert_eq!(first("at/latest-1"), value(0, 0).to_le_bytes());
    let error = block_on(view.lookup("grids/dense/at/latest-2")).unwrap_err();
    assert!(error.to_string().contains("`latest-1` is the first"), "{error}");
    let readme = |path: &str| String::from_utf8(block_on(view.read_file(path)).unwrap().to_vec()).unwrap();
    assert!(readme("grids/dense/README.md").contains("latest-1"));
    assert!(block_on(view.lookup("grids/dense/at/.git")).unwrap().is_none());

    assert_eq!(first("since/1..1500ms"), value(0, 0).to_le_bytes());
    assert_eq!(names(&view, "grids/dense/since/1001ms../fragments").len(), 1);
    assert_eq!(names(&view, "grids/dense/since/0..1970-01/fragments").len(), 2);
    assert!(refusal(&view, "grids/dense/since/..2").contains("write 0..2"));
    assert!(block_on(view.lookup("grids/dense/since/.git")).unwrap().is_none());
    assert!(names(&view, "grids/dense/since").is_empty());
    assert!(refusal(&view, "grids/dense/since/1000ms").contains("T0..T1"));
    for window in ["5..1", "1970-02..1970-01", "2..1970-01-01T00:00:00.001"] {
        assert!(refusal(&view, &format!("grids/dense/since/{window}")).contains("ends before it starts"));
    }
    assert_eq!(names(&view, "grids/dense/since/5..5/fragments").len(), 0);
    assert!(block_on(view.lookup("grids/dense/since/1..2/since")).unwrap().is_none());
}

#[test]
fn concurrent_writes_show_through_a_manifest_too() {
    let theirs = view();
    let files = &theirs.source().context.vfs;
    block_on(manifest::write(&**files, "")).unwrap();
    let context = Context::new(Arc::new(ManifestVfs::new(Arc::clone(files))));
    let array = block_on(Array::open(&context, "points", &OpenOptions::default())).unwrap();
    let source = theirs.source().clone();
    let ours = View::new(Source { context, ..source }, NOW_MS);
    let size = || file(&ours, "points/slices/mag@all.bin").len();
    assert_eq!(size(), 160);
    let theirs_grow = |time_ms| {
        extend(&theirs, time_ms);
        block_on(manifest::refresh(&**files, "")).unwrap();
    };
    theirs_grow(3000);
    assert_eq!(size(), 160);
    ours.refresh(NOW_MS);
    assert_eq!(size(), 164);
    theirs_grow(4000);
    let later = block_on(array.at(Window::ALL)).unwrap();
    assert_eq!(later.fragments().len(), array.fragments().len() + 2);
}

#[test]
fn later_writes_show_after_a_refresh_and_old_nodes_stay() {
    let view = view();
    let path = "points/slices/mag@all.bin";
    let before = block_on(view.lookup(path)).unwrap().unwrap();
    extend(&view, 3000);
    assert_eq!(block_on(view.lookup(path)).unwrap().unwrap().kind, before.kind);
    view.refresh(NOW_MS);
    let after = block_on(view.lookup(path)).unwrap().unwrap();
    assert_eq!(
        (before.kind, after.kind),
        (NodeKind::File { size: 160 }, NodeKind::File { size: 164 })
    );
    assert_ne!(before.id, after.id);
    assert_eq!(block_on(view.read(&before, 0..1000)).unwrap().len(), 160);
    assert_eq!(block_on(view.read(&after, 0..1000)).unwrap().len(), 164);
}

#[test]
fn future_writes_show_when_their_time_comes_or_is_requested() {
    let view = view();
    let size = |path: &str| block_on(view.lookup(path)).unwrap().map(|node| node.kind);
    let (now, then) = ("points/slices/mag@all.bin", "points/at/7000ms/slices/mag@all.bin");
    extend(&view, 7000);
    assert_eq!(size(now), Some(NodeKind::File { size: 160 }));
    assert_eq!(size(then), Some(NodeKind::File { size: 164 }));
    assert!(!names(&view, "points/at").contains(&"7000ms".to_owned()));
    view.refresh(7000);
    assert_eq!(size(now), Some(NodeKind::File { size: 164 }));
    let source = Source {
        options: OpenOptions {
            window: Window::at(8000),
            key: None,
        },
        ..view.source().clone()
    };
    let until = View::new(source, NOW_MS);
    assert_eq!(
        block_on(until.lookup(now)).unwrap().map(|node| node.kind),
        Some(NodeKind::File { size: 164 })
    );
}

/// A consolidated fragment holds cells of several times. A delete adds no fragment.
#[test]
fn times_within_a_fragment_and_deletes_are_distinguished() {
    let view = view();
    let found = |path: &str| {
        view.refresh(NOW_MS);
        let node = block_on(view.lookup(path)).unwrap().unwrap();
        (node.id, node.kind, node.modified_ms)
    };
    let (now, before, after) = (
        "points/slices/mag@all.bin",
        "points/at/2999ms/slices/mag@all.bin",
        "points/at/3000ms/slices/mag@all.bin",
    );
    extend(&view, 3000);
    let array = || block_on(Array::open(&view.source().context, "points", &OpenOptions::default())).unwrap();
    let options = |timestamp_ms| WriteOptions {
        timestamp_ms,
        seed: [3; 32],
        sync: false,
    };
    block_on(consolidate(
        &array(),
        &ConsolidateOptions::new(Mode::Fragments),
        &options(3500),
    ))
    .unwrap();
    block_on(vacuum(&array(), Mode::Fragments, false, &options(3600))).unwrap();
    let (small, large) = (NodeKind::File { size: 160 }, NodeKind::File { size: 164 });
    assert_eq!((found(before).1, found(after).1), (small, large));
    assert_ne!(found(before).0, found(after).0);
    assert_eq!(found(after), found(now));

    block_on(delete(&array(), &"mag < 0.5".parse().unwrap(), &options(4000))).unwrap();
    let (id, kind, modified_ms) = found(now);
    assert_eq!((kind, modified_ms), (small, 4000));
    assert_ne!(id, found(after).0);
    assert_eq!(
        names(&view, "points/at").iter().rev().nth(1).map(String::as_str),
        Some("1970-01-01T00:00:04.000Z")
    );
    assert_eq!(found("points/at/latest-1/slices/mag@all.bin"), found(after));
}

fn extend(view: &View, time_ms: u64) {
    let columns = vec![
        ("x".to_owned(), Column::from_values(Datatype::Float64, &[-9.5_f64])),
        ("mag".to_owned(), Column::from_values(Datatype::Float32, &[9_f32])),
        ("place".to_owned(), Column::from_cells(Datatype::StringUtf8, ["new"])),
    ];
    write(
        &view.source().context,
        "points",
        time_ms,
        Cells {
            region: None,
            layout: Layout::Unordered,
            columns,
        },
    );
}
