//! The names in listings: whole attributes, thumbnails, metadata, overviews, fragments and the last write.

use hyperslab::schema::Schema;

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn node(view: &View, path: &str) -> hyperslab::view::Node {
    block_on(view.lookup(path)).unwrap().unwrap_or_else(|| panic!("{path}"))
}

fn put(view: &View, path: &str, entries: &[(&str, MetaValue)]) {
    let entries: Vec<Entry> = entries
        .iter()
        .map(|(key, value)| Entry {
            key: (*key).into(),
            value: Some(value.clone()),
        })
        .collect();
    let options = WriteOptions {
        timestamp_ms: 2500,
        seed: [4; 32],
        sync: false,
    };
    let array = block_on(Array::open(&view.source().context, path, &OpenOptions::default())).unwrap();
    block_on(array.write_metadata(&entries, &options)).unwrap();
    view.refresh(NOW_MS);
}

#[test]
fn small_whole_attributes_are_listed() {
    assert_eq!(names(&view(), "points/slices"), ["README.md", "mag@all.npy"]);
    // The file of `v` has 23 x 17 cells of 2 bytes after a header of 128 bytes.
    let exact = view().with_list_max(128 + 23 * 17 * 2);
    assert_eq!(names(&exact, "grids/dense/slices").len(), 3);
    let less = view().with_list_max(128 + 23 * 17 * 2 - 1);
    assert_eq!(names(&less, "grids/dense/slices"), ["README.md"]);
    assert_eq!(names(&view(), "grids/dense/since/4000..5000/slices"), ["README.md"]);
}

#[test]
fn a_thumbnail_samples_the_array() {
    let view = view();
    assert_eq!(
        file(&view, "grids/dense/thumb.png"),
        file(&view, "grids/dense/slices/v@all.png")
    );
    assert!(block_on(view.lookup("points/thumb.png")).unwrap().is_none());
    let context = Context::memory();
    let axis = |name: &str, n: i32| Dimension::new(name, Datatype::Int32, 0_i32, n - 1, n.min(100));
    let schema = Schema::new(
        ArrayType::Dense,
        vec![axis("t", 3), axis("y", 300), axis("x", 600)],
        vec![
            Attribute::new("text", Datatype::StringUtf8, CellCount::Var),
            Attribute::new("v", Datatype::Int32, CellCount::ONE),
        ],
    );
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let n = 300 * 600;
    let columns = vec![
        (
            "text".to_owned(),
            Column::from_cells(Datatype::StringUtf8, (0..n).map(|_| "")),
        ),
        (
            "v".to_owned(),
            Column::from_values(Datatype::Int32, &(0..n).collect::<Vec<i32>>()),
        ),
    ];
    let region = [(1, 1), (0, 299), (0, 599)].map(|(lo, hi)| ScalarRange::new(lo, hi));
    let cells = Cells {
        region: Some(region.into()),
        layout: Layout::RowMajor,
        columns,
    };
    write(&context, "a", 1, cells);
    let view = whole(context);
    assert_eq!(file(&view, "a/thumb.png"), file(&view, "a/slices/v@1,::2,::3.png"));
}

#[test]
fn metadata_keys_are_files() {
    let view = view();
    put(
        &view,
        "grids/dense",
        &[
            ("title", MetaValue::text("Air")),
            ("a/b", MetaValue::bytes(Datatype::Int32, &7_i32.to_le_bytes())),
        ],
    );
    assert_eq!(names(&view, "grids/dense/metadata"), ["a%2Fb", "title"]);
    assert_eq!(file(&view, "grids/dense/metadata/title"), b"Air");
    assert_eq!(file(&view, "grids/dense/metadata/a%2Fb"), b"7\n");
    assert!(block_on(view.lookup("grids/dense/metadata/b")).unwrap().is_none());
    assert!(names(&view, "points/metadata").is_empty());
}

#[test]
fn overviews_are_trees_of_the_array() {
    let view = view();
    assert!(!names(&view, "grids/dense").contains(&"overview".to_owned()));
    let list = |path: &str| {
        MetaValue::text(&format!(
            r#"[{{"factor": 8, "path": "../nothing"}}, {{"factor": 2, "path": "{path}"}}]"#
        ))
    };
    put(&view, "grids/dense", &[("overviews", list("../../points"))]);
    assert_eq!(names(&view, "grids/dense/overview"), ["2", "8"]);
    assert!(names(&view, "grids/dense").contains(&"overview".to_owned()));
    assert_eq!(
        file(&view, "grids/dense/overview/2/slices/mag@all.npy"),
        file(&view, "points/slices/mag@all.npy")
    );
    let inner = names(&view, "grids/dense/overview/2");
    assert!(
        inner.contains(&"slices".to_owned()) && !inner.contains(&"at".to_owned()),
        "{inner:?}"
    );
    // A view of the array alone does not lead to arrays elsewhere.
    let path = "grids/dense".to_owned();
    let alone = View::new(
        Source {
            path,
            ..view.source().clone()
        },
        NOW_MS,
    );
    assert_eq!(names(&alone, "overview"), ["8"]);
    for absent in ["3", "8", "02", "2/at"] {
        assert!(
            !matches!(
                block_on(view.lookup(&format!("grids/dense/overview/{absent}"))),
                Ok(Some(_))
            ),
            "{absent}"
        );
    }
}

#[test]
fn fragments_have_readable_names() {
    let view = view();
    let found = names(&view, "grids/dense/fragments");
    assert!(found[0].starts_with("1970-01-01T00:00:01.000Z_"), "{found:?}");
    let file = |name: &str| file(&view, &format!("grids/dense/fragments/{name}"));
    let stored = found.iter().map(|name| {
        let json: serde_json::Value = serde_json::from_slice(&file(name)).unwrap();
        let stored = json["name"].as_str().unwrap().to_owned();
        // The stored name leads to the same file.
        assert_eq!(file(&format!("{stored}.json")), file(name));
        stored
    });
    let stored: Vec<String> = stored.collect();
    let array = block_on(Array::open(
        &view.source().context,
        "grids/dense",
        &OpenOptions::default(),
    ))
    .unwrap();
    let expect: Vec<&str> = array.fragments().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(stored, expect);
    let other = found[0].replace("01.000Z", "01.001Z");
    for absent in ["1970.json", &*stored[0], &*other] {
        let node = block_on(view.lookup(&format!("grids/dense/fragments/{absent}")));
        assert!(!matches!(node, Ok(Some(_))), "{absent}");
    }
}

#[test]
fn the_last_write_is_a_link() {
    let view = view();
    let link = node(&view, "grids/dense/at/latest");
    assert_eq!((link.kind, link.target()), (NodeKind::Link, Some("2000ms")));
    assert_eq!(names(&view, "grids/dense/at/latest/fragments").len(), 2);
}

#[test]
fn stored_bytes_count_once() {
    let view = view();
    let all = |folder: &str| -> u64 {
        let mut sum = 0;
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in block_on(view.list(&folder)).unwrap() {
                let path = format!("{folder}/{}", entry.name);
                let node = node(&view, &path);
                match node.kind {
                    NodeKind::Dir => folders.push(path),
                    NodeKind::File { .. } if !node.counted_elsewhere => sum += node.stored_bytes,
                    _ => (),
                }
            }
        }
        sum
    };
    let array = |path: &str| block_on(Array::open(&view.source().context, path, &OpenOptions::default())).unwrap();
    let stored: u64 = array("grids/dense").fragments().iter().map(|f| f.bytes).sum();
    let found = all("grids/dense");
    assert!((stored * 9 / 10..=stored).contains(&found), "{found} of {stored}");
    let stored: u64 = array("points").fragments().iter().map(|f| f.bytes).sum();
    assert!((1..=stored).contains(&all("points")));
}

#[test]
fn a_misspelt_folder_is_an_error_with_the_right_name() {
    let view = view();
    assert!(refusal(&view, "grids/dense/slice").contains("did you mean 'slices'?"));
    assert!(block_on(view.lookup("grids/dense/.git")).unwrap().is_none());
}
