//! `import --dry-run`, `--schema` and `--along`.

use serde_json::Value;

use crate::{Shell, int16s, npy};

fn table() -> Shell {
    let shell = Shell::new();
    shell.file("in.csv", "id,name\n1,oslo\n2,bern\n3,rome\n");
    shell
}

#[test]
fn a_dry_run_says_what_would_be_made_and_makes_nothing() {
    let shell = table();
    let told = shell.ok("import in.csv a --dry-run");
    for part in [
        "array: dense, shape 3",
        "row int64 0..2 by 3",
        "id int64",
        "name string_utf8[]",
        "nothing was written",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    let told = shell.ok("import in.npy a --dry-run --dims y,x --tile 2,2");
    assert!(
        told.contains("array: dense, shape 3 × 4, 24 B before compression"),
        "{told}"
    );
    let told = shell.ok("import in.csv a --sparse --dims id --dry-run");
    assert!(told.contains("array: sparse, 3 rows"), "{told}");
    assert!(shell.fails("info a").1.contains("not found"));
}

#[test]
fn an_edited_schema_is_used() {
    let shell = table();
    let mut printed: Value = serde_json::from_str(&shell.ok("import in.csv a --dry-run --json")).unwrap();
    assert_eq!(
        (&printed["arrays"][0]["shape"], &printed["dry_run"]),
        (&serde_json::json!([3]), &Value::Bool(true))
    );
    printed["arrays"][0]["schema"]["dimensions"][0]["tile"] = 2.into();
    printed["arrays"][0]["schema"]["dimensions"][0]["domain"][1] = 99.into();
    printed["arrays"][0]["schema"]["attributes"][0]["type"] = "int8".into();
    printed["arrays"][0]["schema"]["attributes"][0]["fill"] = (-1).into();
    shell.file("edited.json", printed.to_string());
    shell.ok("import in.csv a --schema edited.json");
    let made: Value = serde_json::from_str(&shell.ok("schema a")).unwrap();
    assert_eq!(
        (&made["dimensions"][0]["tile"], &made["attributes"][0]["type"]),
        (&2.into(), &"int8".into())
    );
    assert_eq!(
        shell.ok("export a - --format csv"),
        "row,id,name\n0,1,oslo\n1,2,bern\n2,3,rome\n"
    );
    // The schema of an array will do, too.
    shell.file("schema.json", made.to_string());
    shell.ok("import in.csv b --schema schema.json");
    assert_eq!(shell.ok("schema b"), shell.ok("schema a"));
}

#[test]
fn a_schema_with_other_fields_is_refused() {
    let shell = table();
    let printed: Value = serde_json::from_str(&shell.ok("import in.csv a --dry-run --json")).unwrap();
    let refuse = |edit: &dyn Fn(&mut Value), why: &str| {
        let mut edited = printed.clone();
        edit(&mut edited["arrays"][0]["schema"]);
        shell.file("edited.json", edited.to_string());
        let (_, error) = shell.fails("import in.csv a --schema edited.json");
        assert!(error.contains(why), "{error}");
        assert!(shell.fails("info a").1.contains("not found"));
    };
    refuse(
        &|s| s["attributes"][0]["name"] = "number".into(),
        "the field 'id' is missing",
    );
    refuse(
        &|s| drop(s["attributes"].as_array_mut().unwrap().pop()),
        "the field 'name' is missing",
    );
    refuse(
        &|s| s["dimensions"][0]["type"] = "nonsense".into(),
        "cannot read the schema in edited.json",
    );
    shell.file("edited.json", "no json");
    let (_, error) = shell.fails("import in.csv a --schema edited.json");
    assert!(error.contains("cannot read the schema in edited.json"), "{error}");
}

#[test]
#[cfg(feature = "formats")]
fn files_with_unknown_extensions_are_known_by_their_content() {
    let shell = table();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/files/climate4.nc");
    shell.file("climate.dat", std::fs::read(file).unwrap());
    assert!(shell.run("import climate.dat climate", b"").status.success());
    assert!(shell.ok("ls climate").contains("time"));
    let (_, error) = shell.fails("import in.dat a");
    assert!(error.contains("the extension of in.dat is unknown"), "{error}");
}

#[test]
#[cfg(feature = "formats")]
fn several_files_are_joined_along_an_axis() {
    let shell = table();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/files/climate3.nc");
    // A note says how far the axis can grow.
    assert!(shell.run(&format!("import {file} one"), b"").status.success());
    shell.ok(&format!("import {file} {file} --memory 64MiB two --along time"));
    let times = |array: &str| -> Vec<String> {
        let text = shell.ok(&format!("export {array}/time - --format csv --attrs time.data"));
        text.lines()
            .skip(1)
            .map(|line| line.rsplit(',').next().unwrap().to_owned())
            .collect()
    };
    let (one, two) = (times("one"), times("two"));
    assert!(!one.is_empty());
    assert_eq!(two, [one.clone(), one].concat());
    for (line, why) in [
        (
            format!("import {file} {file} three"),
            "several files are joined along an axis",
        ),
        (
            format!("import {file} {file} three --along day"),
            "no array has the axis 'day'; the first axes are",
        ),
        (
            "import in.csv in.csv three".to_owned(),
            "tables and numpy arrays are not joined",
        ),
        (format!("import {file}"), "give the input file and then the new array"),
    ] {
        let (_, error) = shell.fails(&line);
        assert!(error.contains(why), "{line}: {error}");
        assert!(shell.fails("info three").1.contains("not found"));
    }
}
