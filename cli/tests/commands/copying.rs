//! Copies arrays with `schema | create` and `export | write`, and compares the exports.

use serde_json::{Value, json};

use crate::{Shell, int16s, npy};

/// Copies `from` and checks that the copy exports the same bytes.
#[track_caller]
fn copies(shell: &Shell, from: &str) {
    let schema = shell.pipe(&format!("schema {from}"), b"");
    shell.pipe("create copy --schema -", &schema);
    assert_eq!(shell.pipe("schema copy", b""), schema);
    let cells = shell.pipe(&format!("export {from} - --format arrow"), b"");
    shell.pipe("write copy - --format arrow", &cells);
    assert_eq!(shell.pipe("export copy - --format arrow", b""), cells);
    assert_eq!(
        shell.ok("export copy - --format csv"),
        shell.ok(&format!("export {from} - --format csv"))
    );
}

/// An attribute for each datatype, in each cell count that libtiledb allows.
fn attributes() -> Vec<Value> {
    let mut list = Vec::new();
    for t in [
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "bool",
        "char",
        "string_ascii",
        "string_utf8",
        "string_utf16",
        "string_utf32",
        "string_ucs2",
        "string_ucs4",
        "datetime_year",
        "datetime_ms",
        "datetime_ns",
        "datetime_as",
        "time_hr",
        "time_us",
        "blob",
        "geom_wkb",
        "geom_wkt",
    ] {
        for (cell, nullable) in [
            (json!(1), false),
            (json!(3), true),
            (json!("var"), false),
            (json!("var"), true),
        ] {
            list.push(json!({"name": format!("{t} {cell} {nullable}"), "type": t, "cell": cell, "nullable": nullable}));
        }
    }
    list.push(json!({"name": "any", "type": "any", "cell": "var"}));
    list.push(json!({"name": "", "type": "int32"}));
    list
}

/// The text of row `i` of an attribute, as CSV; empty for null.
fn text(attribute: &Value, i: usize) -> String {
    let t = attribute["type"].as_str().unwrap();
    if attribute["nullable"] == true && i == 1 {
        return String::new();
    }
    let one = match t {
        "bool" => ["true", "false"][i % 2].to_owned(),
        "float32" | "float64" => ["0.5", "nan", "-inf"][i % 3].to_owned(),
        "datetime_year" => format!("197{i}"),
        "datetime_month" => format!("1970-0{}", i + 1),
        "datetime_week" => format!("1970-01-{:02}", 1 + 7 * i),
        "datetime_day" => format!("1970-01-0{}", i + 1),
        "datetime_hr" => format!("1970-01-01T0{i}"),
        "datetime_min" => format!("1970-01-01T00:0{i}"),
        t if t.starts_with("datetime") => format!("1970-01-01T00:00:0{i}"),
        _ => i.to_string(),
    };
    let string = t.starts_with("string") || t == "char" || t == "geom_wkt";
    let bytes = matches!(t, "blob" | "geom_wkb" | "any");
    let cell = match attribute["cell"].as_u64() {
        Some(1) | None if attribute["cell"] != "var" => {
            if string {
                "x".to_owned()
            } else if bytes {
                "ff".to_owned()
            } else {
                one
            }
        }
        Some(_) if string => "xyz"[..1 + i % 3].to_owned(),
        Some(_) if bytes => "00ff01".to_owned(),
        Some(_) => format!("[{one},{one},{one}]"),
        None if string => ["", "n\u{e9}\u{1f30d}", "a,\"b\""][i % 3].to_owned(),
        None if bytes => ["", "00", "ff00"][i % 3].to_owned(),
        None => format!("[{}]", vec![one; i % 3].join(",")),
    };
    format!("\"{}\"", cell.replace('"', "\"\""))
}

fn table(attributes: &[Value], coordinates: &[(&str, [&str; 4])]) -> String {
    let names = coordinates.iter().map(|(n, _)| (*n).to_owned());
    let names = names.chain(attributes.iter().map(|a| {
        if a["name"] == "" {
            "data".into()
        } else {
            a["name"].as_str().unwrap().to_owned()
        }
    }));
    let mut csv = names.collect::<Vec<_>>().join(",");
    for i in 0..4 {
        let at: Vec<_> = coordinates.iter().map(|(_, c)| c[i]).collect();
        let cells: Vec<_> = attributes.iter().map(|a| text(a, i)).collect();
        csv.push_str(&format!("\n{},{}", at.join(","), cells.join(",")));
    }
    csv + "\n"
}

#[test]
fn dense_of_every_datatype() {
    let shell = Shell::new();
    let attributes = attributes();
    let dimensions = json!([{"name": "t", "type": "datetime_day", "domain": ["1970-01-01", "1970-01-09"], "tile": 3}]);
    shell.file(
        "schema.json",
        json!({"type": "dense", "dimensions": dimensions, "attributes": attributes}).to_string(),
    );
    shell.ok("create a --schema schema.json");
    shell.file(
        "in.csv",
        table(
            &attributes,
            &[("t", ["1970-01-03", "1970-01-04", "1970-01-05", "1970-01-06"])],
        ),
    );
    shell.ok("write a in.csv");
    copies(&shell, "a");
}

#[test]
fn sparse_of_every_datatype_with_duplicates_and_mixed_dimensions() {
    let shell = Shell::new();
    let attributes = attributes();
    let dimensions = json!([
        {"name": "x", "type": "float64", "domain": [-1.5, 9.0]},
        {"name": "s", "type": "string_ascii"},
        {"name": "i", "type": "uint64", "domain": [0, "18446744073709551614"]},
    ]);
    let schema = json!({"type": "sparse", "cell_order": "hilbert", "capacity": 2, "allows_duplicates": true, "dimensions": dimensions, "attributes": attributes});
    shell.file("schema.json", schema.to_string());
    shell.ok("create a --schema schema.json");
    let coordinates = [
        ("x", ["1", "-1.5", "1", "9"]),
        ("s", ["", "b", "", "long string"]),
        ("i", ["7", "0", "7", "18446744073709551614"]),
    ];
    shell.file("in.csv", table(&attributes, &coordinates));
    shell.ok("write a in.csv");
    copies(&shell, "a");
}

#[test]
fn enumerations_with_holes() {
    let shell = Shell::new();
    let schema = json!({
        "type": "dense",
        "dimensions": [{"name": "d", "type": "int32", "domain": [0, 3], "tile": 4}],
        "attributes": [{"name": "e", "type": "uint8", "enumeration": "animals"}],
        "enumerations": [{"name": "animals", "type": "string_utf8", "cell": "var", "values": ["cat", "dog"]}],
    });
    shell.file("schema.json", schema.to_string());
    shell.ok("create a --schema schema.json");
    shell.file("in.csv", "d,e\n0,dog\n1,\n2,cat\n3,dog\n");
    shell.ok("write a in.csv");
    copies(&shell, "a");
    assert_eq!(shell.ok("export a - --format csv"), "d,e\n0,dog\n1,\n2,cat\n3,dog\n");
    shell.file("bad.csv", "d,e\n0,cow\n");
    let (_, error) = shell.fails("write a bad.csv");
    assert!(
        error.contains("line 2, 'e': 'cow'") && error.contains("evolve"),
        "{error}"
    );
}

#[test]
fn a_copy_between_folders_is_an_equal_array() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.ok("meta set a answer 42 --type int32");
    shell.ok("copy a deep/er/b");
    assert_eq!(
        shell.pipe("export deep/er/b - --format npy", b""),
        shell.pipe("export a - --format npy", b"")
    );
    assert_eq!(shell.ok("meta get deep/er/b answer"), "42\n");
    let (_, error) = shell.fails("copy a deep/er/b");
    assert!(error.contains("already exists"), "{error}");
}

#[test]
fn a_copied_group_prints_members_that_were_not_copied() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.ok("group create g");
    shell.ok("group add g a");
    let told = shell.run("copy g far/g", b"");
    assert!(told.status.success());
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(
        told.contains("far/g: member 'a' was not copied and still refers to file://"),
        "{told}"
    );
    shell.ok("group create h");
    shell.ok("copy a h/a");
    shell.ok("group add h h/a");
    assert_eq!(shell.run("copy h far/h", b"").stderr, b"");
}

#[test]
fn a_copied_group_refers_to_its_copied_members() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create made");
    shell.ok("import in.npy top/g/a");
    shell.ok("group add made top/g/a --name below");
    shell.ok("import in.npy top/b");
    shell.ok("group add made top/b --name beside");
    // A group that names its members by full paths, although they are next to it and inside it.
    for entry in std::fs::read_dir(shell.path("made")).unwrap() {
        let entry = entry.unwrap();
        std::fs::rename(entry.path(), shell.path("top/g").join(entry.file_name())).unwrap();
    }
    let told = shell.run("copy top copied", b"");
    assert!(told.status.success() && told.stderr.is_empty(), "{told:?}");
    std::fs::remove_dir_all(shell.path("top")).unwrap();
    let members: serde_json::Value = serde_json::from_str(&shell.ok("group ls copied/g --json")).unwrap();
    assert_eq!(
        (&members[0]["uri"], &members[0]["relative"]),
        (&"a".into(), &true.into())
    );
    assert!(members[1]["uri"].as_str().unwrap().ends_with("/copied/b"), "{members}");
    assert_eq!(shell.ok("ls copied/g").lines().count(), 2);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.file("out.npy", "mine");
    std::fs::set_permissions(shell.path("out.npy"), PermissionsExt::from_mode(0o600)).unwrap();
    shell.ok("export a out.npy --force");
    let mode = std::fs::metadata(shell.path("out.npy")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn dense_writes_fill_boxes() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --dims y,x");
    shell.file("part.npy", npy("'<i2'", "(2,)", &[99, 0, 98, 0]));
    shell.ok("write a part.npy --select 1:3,2");
    assert_eq!(
        shell.ok("export a - --format csv --select 1:3,2"),
        "y,x,data\n1,2,99\n2,2,98\n"
    );
    let (_, error) = shell.fails("write a part.npy");
    assert!(error.contains("--select"), "{error}");
    let (_, error) = shell.fails("write a part.npy --select 0:3,0");
    assert!(error.contains("[2]") && error.contains("[3, 1]"), "{error}");
    shell.file("points.csv", "x,data,y\n3,-1,2\n0,-2,1\n");
    let (_, error) = shell.fails("write a points.csv");
    assert!(error.contains("--points"), "{error}");
    shell.ok("write a points.csv --points");
    assert_eq!(
        shell.ok("export a - --format csv --select 1:3,::3"),
        "y,x,data\n1,0,-2\n1,3,7\n2,0,8\n2,3,-1\n"
    );
}

#[test]
fn a_copy_cannot_overlap_its_source() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy folder/a");
    #[cfg(unix)]
    std::os::unix::fs::symlink("folder", shell.path("link")).unwrap();
    let files = || {
        let mut names: Vec<_> = std::fs::read_dir(shell.path("folder/a")).unwrap().collect();
        names.sort_by_key(|e| e.as_ref().unwrap().file_name());
        names.into_iter().map(|e| e.unwrap().file_name()).collect::<Vec<_>>()
    };
    let before = files();
    let file_url = format!("file://{}", shell.path("folder/a/b").display());
    let mut lines = vec![
        ("folder/a folder/a/b".to_owned(), "the destination is inside the source"),
        (
            "folder/a folder/a/deep/er".to_owned(),
            "the destination is inside the source",
        ),
        (
            "folder folder/a/../a/b".to_owned(),
            "the destination is inside the source",
        ),
        (format!("folder/a {file_url}"), "the destination is inside the source"),
        (
            "folder/a/__schema folder/a".to_owned(),
            "the source is inside the destination",
        ),
        ("folder/a folder/../folder/a".to_owned(), "they are the same"),
    ];
    #[cfg(unix)]
    lines.extend([
        ("link/a folder/a/b".to_owned(), "the destination is inside the source"),
        ("folder/a link/a/b".to_owned(), "the destination is inside the source"),
        (
            "folder/a/__schema link/a".to_owned(),
            "the source is inside the destination",
        ),
    ]);
    for (line, why) in lines {
        crate::failing::check(
            &shell,
            &format!("copy {line}"),
            1,
            &["cannot copy", why, "choose another destination"],
        );
        assert_eq!(files(), before, "{line}");
    }
    // A folder whose name has the same prefix is not inside.
    shell.ok("copy folder/a folder/a2");
}
