use hyperslab::blocking::block_on;
use hyperslab::group::{GroupChange, GroupMember, MemberKind, change_group};
use hyperslab::{Context, WriteOptions};
use serde_json::Value;

use crate::failing::check;
use crate::{Shell, int16s, npy};

#[test]
fn listings_show_shapes_and_types() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import in.npy g/height --attrs metres");
    shell.ok("group create g/inner");
    shell.ok("group add g g/height");
    shell.ok("group add g g/inner --name second");
    let ls = shell.ok("ls g");
    assert!(
        ls.contains("height") && ls.contains("dense") && ls.contains("3 × 4") && ls.contains("metres int16"),
        "{ls}"
    );
    let listed: Value = serde_json::from_str(&shell.ok("ls g --json")).unwrap();
    let bytes = listed[0]["bytes"].as_u64().unwrap();
    let attributes = serde_json::json!([{"name": "metres", "type": "int16", "cell": 1, "nullable": false}]);
    let height = serde_json::json!({
        "name": "height", "type": "dense", "shape": [3, 4], "dimensions": ["d0", "d1"], "attributes": attributes,
        "cells": 12, "bytes": bytes, "fragments": 1, "deletes": 0,
    });
    // `ls` does not read the inner group.
    let inner = serde_json::json!({"name": "second", "type": "group"});
    assert_eq!(listed, serde_json::json!([height, inner]));
    let whole: Value = serde_json::from_str(&shell.ok("tree g --json")).unwrap();
    let inner = serde_json::json!({"name": "second", "type": "group", "children": []});
    assert_eq!(whole["children"], serde_json::json!([height, inner]));
    let tree = shell.ok("tree .");
    assert!(tree.contains("└─ second") || tree.contains("├─ second"), "{tree}");
    let members: Value = serde_json::from_str(&shell.ok("group ls g --json")).unwrap();
    assert_eq!(members.as_array().unwrap().len(), 2);
    shell.ok("group rm g second");
    assert!(!shell.ok("group ls g").contains("second"));
    assert!(shell.ok("ls g/height").contains("3 × 4"));
}

#[test]
fn members_of_groups_are_named_from_the_current_folder() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import in.npy a");
    shell.ok("import in.npy g/a");
    shell.ok("import in.npy g/b");
    // There is an `a` here and one in the group. The path decides, in every spelling.
    let top = shell.dir.path().canonicalize().unwrap();
    let top = top.to_str().unwrap();
    shell.ok("group add g a --name beside");
    shell.ok("group add g ./g/a --name inside");
    let within = |line: &str| {
        let output = shell.command(line).current_dir(shell.path("g")).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    };
    within("group add . b");
    within("group add ../g ../a --name up");
    within(&format!("group add . file://{top}/g/../g/b --name full"));
    // There is no `b` here, but one in the group's folder.
    shell.ok("group add g b --name there");
    let members: Value = serde_json::from_str(&shell.ok("group ls g --json")).unwrap();
    let member = |name: &str| {
        let found = members.as_array().unwrap().iter().find(|m| m["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{name}: {members}"));
        (found["uri"].as_str().unwrap(), found["relative"].as_bool().unwrap())
    };
    let beside = format!("file://{top}/a");
    for (name, expect) in [
        ("beside", (&*beside, false)),
        ("inside", ("a", true)),
        ("b", ("b", true)),
        ("up", (&*beside, false)),
        ("full", ("b", true)),
        ("there", ("b", true)),
    ] {
        assert_eq!(member(name), expect, "{name}");
    }
    check(
        &shell,
        "group add g nowhere",
        1,
        &["nowhere: ", "neither from the current folder nor in the group's"],
    );
}

#[test]
fn a_listing_shows_the_rest_and_fails_for_unreadable_arrays() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    for name in ["sound", "torn", "gone"] {
        shell.ok(&format!("import in.npy g/{name}"));
        shell.ok(&format!("group add g g/{name}"));
    }
    let schema = std::fs::read_dir(shell.path("g/torn/__schema")).unwrap();
    let schema = schema.map(|e| e.unwrap().path()).find(|p| p.is_file()).unwrap();
    std::fs::write(schema, "torn").unwrap();
    std::fs::remove_dir_all(shell.path("g/gone")).unwrap();
    for command in ["ls g", "tree g", "tree .", "ls g --json"] {
        let output = shell.run(command, b"");
        let (out, error) = (String::from_utf8_lossy(&output.stdout), crate::in_lines(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{command}: {out}{error}");
        assert!(out.contains("sound") && out.contains("int16"), "{command}: {out}");
        let (torn, gone) = (
            error.lines().find(|l| l.contains("torn")),
            error.lines().find(|l| l.contains("gone")),
        );
        assert!(torn.unwrap().contains("restore"), "{command}: {error}");
        assert!(gone.is_some(), "{command}: {error}");
        assert!(error.lines().all(|l| l.starts_with("error: ")), "{command}: {error}");
    }
}

#[test]
fn info_of_a_group_names_what_is_inside() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    assert_eq!(shell.ok("info g"), "group  g\nholds  nothing\n");
    shell.ok("import in.npy g/first --dims lat,n");
    shell.ok("group add g g/first");
    let told = shell.ok("info g");
    assert!(
        told.contains("holds   members of no single application\ninside  first: 1 variable\n"),
        "{told}"
    );
    let json: Value = serde_json::from_str(&shell.ok("info g --json")).unwrap();
    assert_eq!((&json["type"], &json["path"]), (&"group".into(), &"g".into()));
    let axis = &json["dataset"]["children"][0]["variables"][0]["axes"][0];
    assert_eq!((&axis["role"], &axis["guessed"]), (&"y".into(), &true.into()));
}

#[test]
fn info_shows_fragments_times_and_sizes() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --timestamp 5");
    shell.ok("write a in.npy --timestamp 1970-01-01T00:00:00.009Z");
    let info: Value = serde_json::from_str(&shell.ok("info a --json")).unwrap();
    assert_eq!((&info["cells"], &info["type"]), (&24.into(), &"dense".into()));
    let times: Vec<_> = info["fragments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["timestamps"][0].as_u64().unwrap())
        .collect();
    assert_eq!(times, [5, 9]);
    assert_eq!(info["non_empty_domain"], serde_json::json!([[0, 2], [0, 3]]));
    assert!(info["bytes"].as_u64().unwrap() > 0 && info["compression_ratio"].is_number());
    assert!(shell.ok("info a").contains("1970-01-01T00:00:00.005Z"));
    let before: Value = serde_json::from_str(&shell.ok("info a --json --at 5")).unwrap();
    assert_eq!(before["fragments"].as_array().unwrap().len(), 1);
}

#[test]
fn values_of_any_length_have_a_compression_ratio() {
    let shell = Shell::new();
    let rows: String = (0..1000).map(|i| format!("{i},{}\n", "x".repeat(1 + i % 30))).collect();
    shell.file("in.csv", format!("n,word\n{rows}"));
    shell.ok("import in.csv a --tile 100 --filters zstd");
    let info: Value = serde_json::from_str(&shell.ok("info a --json")).unwrap();
    let text: u64 = (0..1000).map(|i| 1 + i % 30).sum();
    assert_eq!(info["unfiltered_bytes"], text + 1000 * (8 + 8));
    assert!(info["compression_ratio"].as_f64().unwrap() > 2.0, "{info}");
    assert!(shell.ok("info a").contains("of values (compression ratio "));
}

#[test]
fn metadata_of_arrays_and_groups() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --timestamp 1");
    shell.ok("group create g");
    for place in ["a", "g"] {
        shell.ok(&format!("meta set {place} name 'a b' --timestamp 10"));
        shell.ok(&format!("meta set {place} range -1,2.5 --type float64 --timestamp 11"));
        assert_eq!(shell.ok(&format!("meta get {place} range")), "-1.0,2.5\n");
        assert_eq!(shell.ok(&format!("meta get {place} name --at 10")), "a b\n");
        shell.ok(&format!("meta rm {place} name --timestamp 12"));
        let all: Value = serde_json::from_str(&shell.ok(&format!("meta ls {place} --json"))).unwrap();
        assert_eq!(
            all,
            serde_json::json!({"range": {"type": "float64", "value": [-1.0, 2.5]}})
        );
    }
}

#[test]
fn groups_of_old_releases_contain_their_folders() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    for group in ["g", "g/sub"] {
        std::fs::create_dir(shell.path(group)).unwrap();
        shell.file(&format!("{group}/__tiledb_group.tdb"), b"");
        shell.ok(&format!("import in.npy {group}/array"));
    }
    let tree: Value = serde_json::from_str(&shell.ok("tree g --json")).unwrap();
    let found = |group: &Value| {
        let children = group["children"].as_array().unwrap().iter();
        children
            .map(|c| format!("{} {}", c["name"], c["type"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&tree), [r#""array" "dense""#, r#""sub" "group""#]);
    assert_eq!(found(&tree["children"][1]), [r#""array" "dense""#]);
    shell.ok("group create new");
    shell.ok("import in.npy new/array");
    let new: Value = serde_json::from_str(&shell.ok("ls new --json")).unwrap();
    assert_eq!((&new[0]["name"], &new[0]["member"]), (&"array".into(), &false.into()));
}

#[test]
fn a_tree_follows_parent_paths_and_ends_at_cycles() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import in.npy g/array");
    shell.ok("group create g/inner");
    shell.ok("group add g g/inner");
    let context = Context::local(shell.path("g"));
    let member = |kind, relative, uri: &str, name: &str| {
        GroupChange::Add(GroupMember {
            kind,
            relative,
            uri: uri.to_owned(),
            name: Some(name.to_owned()),
            deleted: false,
        })
    };
    let top = shell.path("g").display().to_string();
    let members = [
        member(MemberKind::Array, true, "../array", "sideways"),
        member(MemberKind::Group, false, &top, "once"),
        member(MemberKind::Group, false, &format!("file://{top}/"), "twice"),
    ];
    let options = WriteOptions {
        timestamp_ms: 1,
        seed: [7; 32],
        sync: false,
    };
    block_on(change_group(&context, "inner", &members, None, &options)).unwrap();
    let tree: Value = serde_json::from_str(&shell.ok("tree g --json")).unwrap();
    let inner = tree["children"][0]["children"].as_array().unwrap();
    let kinds: Vec<_> = inner
        .iter()
        .map(|c| (&c["name"], &c["type"], c["children"].to_string()))
        .collect();
    assert_eq!(
        kinds,
        [
            (&"once".into(), &"group".into(), "null".to_owned()),
            (&"sideways".into(), &"dense".into(), "null".to_owned()),
            (&"twice".into(), &"group".into(), "null".to_owned()),
        ]
    );
}

#[test]
fn maintenance_commands_run_on_all_arrays_of_a_group() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("group create g/sub");
    shell.ok("group add g g/sub");
    let (_, error) = shell.fails("verify g");
    assert!(error.contains("the group has no arrays"), "{error}");
    for array in ["g/a", "g/sub/b", "c"] {
        shell.ok(&format!("import in.npy {array}"));
        shell.ok(&format!("write {array} in.npy"));
    }
    shell.ok("group add g c");
    shell.ok("group add g/sub g --name above");
    // Members come first, then arrays that are only in the folder.
    let told = shell.ok("ls g");
    assert!(told.contains("(no member of the group)"), "{told}");
    let listed: Value = serde_json::from_str(&shell.ok("ls g --json")).unwrap();
    assert_eq!((&listed[2]["name"], &listed[2]["member"]), (&"a".into(), &false.into()));
    let told = shell.ok("verify g");
    assert!(
        told.lines().count() == 3 && told.contains("g/sub/b: no damage found (2 fragments"),
        "{told}"
    );
    let told = shell.ok("consolidate g");
    assert!(told.lines().any(|l| l.starts_with("g/a/__")), "{told}");
    let told = shell.ok("vacuum g");
    assert!(told.lines().any(|l| l.starts_with("g/sub/b/__fragments/")), "{told}");
    std::fs::remove_dir_all(shell.path("c")).unwrap();
    let whole = shell.run("verify g", b"");
    assert!(!whole.status.success());
    assert_eq!(String::from_utf8(whole.stdout).unwrap().lines().count(), 2);
    assert!(crate::in_lines(&whole.stderr).contains("/c: this member of the group does not exist; restore it"));
}

#[test]
fn info_shows_the_current_domain() {
    let shell = Shell::new();
    let schema = r#"{"type":"dense","dimensions":[{"name":"x","type":"int32","domain":[0,99],"tile":10}],"current_domain":[[0,49]],"attributes":[{"name":"a","type":"uint8"}]}"#;
    shell.file("s.json", schema);
    shell.ok("create a --schema s.json");
    let told = shell.ok("info a");
    assert!(told.contains("current domain  x 0..49"), "{told}");
    let info: Value = serde_json::from_str(&shell.ok("info a --json")).unwrap();
    assert_eq!(info["schema"]["current_domain"], serde_json::json!([[0, 49]]));
}

#[test]
fn groups_with_several_parents_are_listed_once() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.ok("group create g8");
    shell.ok("group add g8 a");
    // Two paths lead from each group to the next, so 256 lead to the last.
    for level in (0..8).rev() {
        shell.ok(&format!("group create g{level}"));
        for name in ["left", "right"] {
            shell.ok(&format!("group add g{level} g{} --name {name}", level + 1));
        }
    }
    let tree = shell.ok("tree g0");
    assert_eq!(tree.lines().count(), 18, "{tree}");
    assert_eq!(tree.matches("3 × 4").count(), 1, "{tree}");
    assert_eq!(tree.matches("its members are shown above").count(), 8, "{tree}");
    let json: Value = serde_json::from_str(&shell.ok("tree g0 --json")).unwrap();
    assert_eq!(json["children"][1]["repeated"], true);
    assert!(json["children"][0].get("repeated").is_none());
}

#[test]
fn cell_counts_mention_deletes() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,1\n2,2\n");
    shell.ok("import in.csv a --sparse --dims x --timestamp 100");
    assert!(!shell.ok("info a").contains("deletes"));
    shell.ok("delete a --where 'x == 1' --timestamp 200");
    let told = shell.ok("info a");
    assert!(told.contains("2 written, including deleted ones"), "{told}");
    assert!(told.contains("1, the last at 1970-01-01T00:00:00.200Z"), "{told}");
    assert!(
        shell.ok("ls a").contains("1 delete not subtracted"),
        "{}",
        shell.ok("ls a")
    );
    let json = |line: &str| serde_json::from_str::<Value>(&shell.ok(line)).unwrap();
    assert_eq!(json("info a --json")["deletes"], serde_json::json!([200]));
    assert_eq!(json("ls . --json")[0]["deletes"], 1);
}

#[test]
fn an_unread_group_is_not_shown_as_empty() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import in.npy g/a");
    let json = |line: &str| serde_json::from_str::<Value>(&shell.ok(line)).unwrap();
    assert_eq!(json("ls . --json"), serde_json::json!([{"name": "g", "type": "group"}]));
    assert_eq!(json("tree . --json")["children"][0]["children"][0]["name"], "a");
}

#[test]
fn numpy_keys_and_the_word_order_of_earlier_releases_work() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.ok("meta set a __np_flat_k 1,2,3,4 --type int64");
    shell.ok("meta set a __np_shape_k 2,2 --type int64");
    assert_eq!(shell.ok("meta get a k"), "1,2,3,4\n");
    shell.ok("meta set a k text");
    assert_eq!(shell.ok("meta ls a"), "k  string_utf8  text\n");
    shell.ok("meta set a __np_flat_k 1 --type int64");
    shell.ok("meta a rm k");
    assert_eq!(shell.ok("meta a ls"), "");
    shell.ok("meta a set get -1 --type int8");
    assert_eq!(shell.ok("--quiet meta a get get"), "-1\n");
    for line in ["meta a", "meta a gte k"] {
        let (code, error) = shell.fails(line);
        assert!(
            code == 2 && error.contains("write `hyperslab meta ls ARRAY`"),
            "{error}"
        );
    }
}
