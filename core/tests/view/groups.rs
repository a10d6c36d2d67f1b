//! Groups as folders.

use super::*;
use hyperslab::vfs::VfsExt;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Creates an array in the group `g`.
fn make_inner(context: &Context) {
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 4_i32, 2_i32);
    let attribute = Attribute::new("a", Datatype::Int16, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![x], vec![attribute]);
    block_on(Array::create(context, "g/inner", &schema, &[], &created())).unwrap();
}

fn view_of(context: Context) -> View {
    let source = Source {
        context,
        url: "/data".into(),
        path: "g".into(),
        options: OpenOptions::default(),
        name: "g".into(),
    };
    View::new(source, NOW_MS)
}

#[test]
fn members_with_absolute_uris_are_shown_if_they_are_in_the_group() {
    let context = Context::memory();
    block_on(create_group(&context, "g")).unwrap();
    make_inner(&context);
    let member = |name: &str, uri: &str, kind| {
        GroupChange::Add(GroupMember {
            kind,
            relative: !uri.contains(':'),
            uri: uri.into(),
            name: Some(name.into()),
            deleted: false,
        })
    };
    let changes = [
        member("full", "file:///data/g/inner", MemberKind::Array),
        member("by path", "inner", MemberKind::Array),
        member("gone", "gone", MemberKind::Unknown),
        member("itself", "file:///data/g", MemberKind::Group),
        member("other", "file:///data/other", MemberKind::Array),
        member("up", "../other", MemberKind::Array),
        member("bucket", "s3://data/g/inner", MemberKind::Array),
    ];
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [8; 32],
        sync: false,
    };
    block_on(change_group(&context, "g", &changes, None, &options)).unwrap();
    let view = view_of(context);
    assert_eq!(
        names(&view, ""),
        ["README.md", "by path", "full", "gone", "metadata.json"]
    );
    assert_eq!(
        file(&view, "full/slices/all.npy"),
        file(&view, "by path/slices/all.npy")
    );
    assert!(names(&view, "gone").is_empty());
    let page = String::from_utf8(file(&view, "README.md")).unwrap();
    for line in [
        "- `itself`: `file:///data/g`",
        "- `other`: `file:///data/other`",
        "- `up`: `g/../other`",
        "- `bucket`: `s3://data/g/inner`",
    ] {
        assert!(page.contains(line), "{page}");
    }
    assert!(!page.contains("gone`:"), "{page}");
}

/// File names may contain anything except `/` and NUL; names in groups may contain anything.
#[test]
fn every_member_name_is_a_folder_and_is_on_the_page() {
    let context = Context::memory();
    block_on(create_group(&context, "g")).unwrap();
    let x = Dimension::new("x|y", Datatype::Int32, 0_i32, 4_i32, 2_i32);
    let attribute = Attribute::new("<b>\u{1b}[31m", Datatype::Int16, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![x], vec![attribute]);
    let folders = ["50%", ".hidden", "a%2Fb", "[x](y)`", "\u{1b}]0;title\u{7}"];
    for folder in folders.iter().chain(&["plain"]) {
        block_on(Array::create(
            &context,
            &format!("g/{folder}"),
            &schema,
            &[],
            &created(),
        ))
        .unwrap();
    }
    block_on(context.vfs.put("g/.hyperslab-1.part/__schema/x", vec![])).unwrap();
    let member = GroupMember {
        kind: MemberKind::Array,
        relative: true,
        uri: "plain".into(),
        name: Some("a/b".into()),
        deleted: false,
    };
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [8; 32],
        sync: false,
    };
    block_on(change_group(&context, "g", &[GroupChange::Add(member)], None, &options)).unwrap();
    let group = view_of(context.clone());
    let mut expect = vec![
        "README.md",
        "50%",
        ".hidden",
        "a%2Fb",
        "a%2Fb_",
        "[x](y)`",
        folders[4],
        "metadata.json",
    ];
    expect.sort_unstable();
    assert_eq!(names(&group, ""), expect);
    let root = whole(context);
    for (view, path) in [(&group, ""), (&root, "g/")] {
        for name in expect.iter().filter(|n| !n.ends_with(".md") && !n.ends_with(".json")) {
            let page = String::from_utf8(file(view, &format!("{path}{name}/README.md"))).unwrap();
            assert!(page.contains("`x\\|y`") && page.contains("`<b>\\u{1b}[31m`"), "{page}");
            assert!(!page.contains('\u{1b}'), "{page}");
            assert!(names(view, &format!("{path}{name}/tiles")).contains(&"<b>\u{1b}[31m".to_owned()));
        }
    }
    let page = String::from_utf8(file(&group, "README.md")).unwrap();
    for line in [
        "- `50%/`",
        "- `.hidden/`",
        "- ``[x](y)`/``",
        "- `\\u{1b}]0;title\\u{7}/`",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    assert!(!page.contains('\u{1b}'), "{page}");
}

#[test]
fn a_group_without_a_list_shows_the_contents_of_its_folder() {
    let context = Context::memory();
    // A group of a release before 2.8.
    block_on(context.vfs.put("g/__tiledb_group.tdb", vec![])).unwrap();
    make_inner(&context);
    let view = view_of(context);
    assert!(names(&view, "").contains(&"inner".to_owned()));
    assert!(names(&view, "inner").contains(&"slices".to_owned()));
}

#[test]
fn a_group_shows_its_metadata_and_arrays_that_are_not_members() {
    let context = Context::memory();
    block_on(create_group(&context, "g")).unwrap();
    make_inner(&context);
    block_on(create_group(&context, "g/sub")).unwrap();
    block_on(context.vfs.put("g/notes/a.txt", vec![])).unwrap();
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [8; 32],
        sync: false,
    };
    let entry = |key: &str| Entry {
        key: key.into(),
        value: Some(MetaValue::text(key)),
    };
    let sub = GroupMember {
        kind: MemberKind::Group,
        relative: true,
        uri: "sub".into(),
        name: Some("sub".into()),
        deleted: false,
    };
    block_on(change_group(&context, "g", &[GroupChange::Add(sub)], None, &options)).unwrap();
    block_on(write_group_metadata(
        &context,
        "g/sub",
        &[entry("axes")],
        None,
        &options,
    ))
    .unwrap();
    let view = view_of(context);
    assert_eq!(names(&view, ""), ["README.md", "inner", "metadata.json", "sub"]);
    assert!(names(&view, "inner").contains(&"slices".to_owned()));
    assert_eq!(names(&view, "sub"), ["README.md", "metadata.json"]);
    assert_eq!(file(&view, "sub/metadata.json"), b"{\n  \"axes\": \"axes\"\n}\n");
    assert!(file(&view, "sub/README.md").starts_with(b"# sub\n"));
}
