use std::path::PathBuf;

use hyperslab::internals::filter::Nonces;
use hyperslab::internals::format::generic_tile;
use hyperslab::schema::Enumeration;
use hyperslab::{Column, Datatype};

use crate::failing::check;
use crate::{Shell, int16s, npy};

/// The folder of the fragment that was written at this time, in milliseconds.
fn fragment(shell: &Shell, array: &str, time: u64) -> PathBuf {
    let start = format!("__{time}_{time}_");
    let all = std::fs::read_dir(shell.path(array).join("__fragments")).unwrap();
    let is = |p: &PathBuf| p.file_name().unwrap().to_str().unwrap().starts_with(&start);
    all.map(|f| f.unwrap().path()).find(is).unwrap()
}

#[test]
fn a_missing_file_is_named_with_its_array_and_advice() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    for (array, lost, command) in [
        ("a", "a0.tdb", "export a out.npy"),
        ("b", "__fragment_metadata.tdb", "info b"),
    ] {
        shell.ok(&format!("import in.npy {array} --timestamp 1"));
        shell.ok(&format!("write {array} in.npy --timestamp 2"));
        let before = shell.ok(&format!("export {array} - --format csv --at 1"));
        let folder = fragment(&shell, array, 2);
        std::fs::remove_file(folder.join(lost)).unwrap();
        let words = [
            &format!(" {array}: "),
            lost,
            "restore the file",
            "__commits",
            "give up its cells",
        ];
        check(&shell, command, 1, &words);
        // The advice works.
        let name = folder.file_name().unwrap().to_str().unwrap();
        std::fs::remove_file(shell.path(array).join(format!("__commits/{name}.wrt"))).unwrap();
        assert_eq!(shell.ok(&format!("export {array} - --format csv")), before);
    }
}

#[test]
fn a_missing_enumeration_names_its_array() {
    let shell = Shell::new();
    shell.pipe(
        "create a --schema -",
        br#"{"type": "dense", "dimensions": [{"name": "i", "type": "int32", "domain": [0, 2]}],
        "attributes": [{"name": "e", "type": "int8", "enumeration": "animals"}],
        "enumerations": [{"name": "animals", "type": "string_utf8", "cell": "var", "values": ["cat", "dog"]}]}"#,
    );
    std::fs::remove_dir_all(shell.path("a/__schema/__enumerations")).unwrap();
    for command in ["schema a", "export a out.csv", "evolve a --extend-enum animals=cow"] {
        check(
            &shell,
            command,
            1,
            &[" a: ", "__enumerations/", "enumeration", "restore the file"],
        );
    }
}

#[test]
fn too_many_cells_to_count_are_an_error_with_advice() {
    let shell = Shell::new();
    shell.pipe(
        "create a --schema -",
        br#"{"type": "dense", "dimensions": [
        {"name": "x", "type": "uint64", "domain": [0, 18446744073709551614], "tile": 1},
        {"name": "y", "type": "uint64", "domain": [0, 18446744073709551614], "tile": 1}],
        "attributes": [{"name": "v", "type": "int32"}]}"#,
    );
    check(&shell, "export a out.csv --select :", 1, &["2^64", "select fewer"]);
    check(
        &shell,
        "export a out.png --select 0:10000000,0:10000000",
        1,
        &["select fewer"],
    );
}

#[test]
fn out_of_range_numbers_are_errors_with_line_and_column() {
    let shell = Shell::new();
    let field = |t: &str| {
        format!(
            r#"{{"type": "dense", "dimensions": [{{"name": "i", "type": "int32", "domain": [0, 1]}}],
            "attributes": [{{"name": "v", "type": "{t}"}}]}}"#
        )
    };
    for (datatype, text, why) in [
        ("float32", "1e39", "out of range for float32"),
        ("float64", "-1e400", "out of range for float64"),
        ("int8", "200", "out of range for int8"),
        ("uint16", "-1", "out of range for uint16"),
        ("int32", "2.5", "not a valid int32"),
        (
            "datetime_day",
            "2020-01-01T12:00",
            "finer than datetime_day, which would truncate it to 2020-01-01",
        ),
        ("datetime_ms", "2020-01-01T00:00:00.1239", "finer than datetime_ms"),
        ("datetime_year", "2020-12-31", "finer than datetime_year"),
    ] {
        shell.pipe(&format!("create {datatype} --schema -"), field(datatype).as_bytes());
        let fine = if datatype.starts_with("datetime") { "2020" } else { "1" };
        shell.file("in.csv", format!("i,v\n0,{fine}\n1,{text}\n"));
        check(
            &shell,
            &format!("write {datatype} in.csv"),
            1,
            &["line 3, 'v'", text, why],
        );
    }
    shell.file("in.csv", "i,v\n0,inf\n1,-Infinity\n");
    shell.ok("write float32 in.csv");
    assert_eq!(shell.ok("export float32 - --format csv"), "i,v\n0,inf\n1,-inf\n");
}

#[test]
fn a_name_may_be_as_long_as_the_disk_allows() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    let name = |c: &str| c.repeat(255);
    shell.ok(&format!("import in.npy {}", name("a")));
    shell.ok(&format!("copy {} {}", name("a"), name("b")));
    let schema = shell.pipe(&format!("schema {}", name("a")), b"");
    shell.pipe(&format!("create {} --schema -", name("c")), &schema);
    let out = format!("{}.npy", "d".repeat(251));
    shell.ok(&format!("export {} {out}", name("b")));
    assert_eq!(crate::values(&shell.bytes(&out)), int16s(12));
    assert_eq!(
        shell.names(),
        [name("a"), name("b"), name("c"), out, "in.npy".to_owned()]
    );
}

#[test]
fn a_too_long_name_is_an_error_with_advice() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.file("schema.json", shell.ok("schema a"));
    let name = "b".repeat(256);
    for line in [
        format!("import in.npy {name}"),
        format!("create {name} --schema schema.json"),
        format!("copy a {name}"),
        format!("group create {name}"),
        format!("export a {name} --format npy"),
    ] {
        let words = [&*name, "File name too long", "; choose a shorter name\n"];
        check(&shell, &line, 1, &words);
    }
}

#[test]
fn opening_a_file_suggests_an_import() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    let words = [
        "cannot open in.npy",
        "it is a file; import it with `hyperslab import in.npy ARRAY`",
    ];
    for line in ["info in.npy", "export in.npy out.csv"] {
        check(&shell, line, 1, &words);
    }
}

#[test]
fn errors_name_the_line_of_the_file() {
    let shell = Shell::new();
    let schema = r#"{"type": "sparse", "dimensions": [{"name": "i", "type": "int32", "domain": [0, 9]}],
        "attributes": [{"name": "v", "type": "int8"}, {"name": "t", "type": "string_utf8", "cell": "var"}]}"#;
    shell.pipe("create a --schema -", schema.as_bytes());
    shell.file("in.csv", "i,v,t\n0,1,\"two\nlines\"\n\n1,200,x\n");
    check(
        &shell,
        "write a in.csv",
        1,
        &["line 5, 'v': '200'", "out of range for int8"],
    );
}

#[test]
fn a_condition_may_name_the_unnamed_attribute() {
    let shell = Shell::new();
    shell.pipe(
        "create a --schema -",
        br#"{"type": "sparse", "dimensions": [{"name": "i", "type": "int32", "domain": [0, 9]}],
        "attributes": [{"name": "", "type": "int32"}]}"#,
    );
    shell.file("in.csv", "i,data\n0,5\n1,6\n");
    shell.ok("write a in.csv --timestamp 1");
    for name in ["data", "``"] {
        assert_eq!(
            shell.ok(&format!("export a - --format csv --where '{name} > 5'")),
            "i,data\n1,6\n"
        );
    }
    check(
        &shell,
        "export a out.csv --where 'v > 5'",
        2,
        &["the fields are i, data"],
    );
    shell.ok("delete a --where 'data > 5' --timestamp 2");
    assert_eq!(shell.ok("export a - --format csv"), "i,data\n0,5\n");
}

#[test]
fn replaced_fragments_are_verified_until_vacuum() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --timestamp 1");
    shell.ok("write a in.npy --timestamp 2");
    shell.ok("consolidate a");
    assert!(shell.ok("verify a").contains("3 fragments"));
    std::fs::write(fragment(&shell, "a", 1).join("a0.tdb"), "short").unwrap();
    let (code, error) = shell.fails("verify a");
    assert!(
        code == 1 && error.contains("1 damaged") && error.contains("__1_1_"),
        "{error}"
    );
    shell.ok("vacuum a");
    assert!(shell.ok("verify a").contains("1 fragment,"));
}

#[test]
fn mismatched_columns_are_named_with_advice() {
    let shell = Shell::new();
    for kind in ["dense", "sparse"] {
        let dimension = |n: &str| format!(r#"{{"name": "{n}", "type": "int32", "domain": [0, 9]}}"#);
        let schema = format!(
            r#"{{"type": "{kind}", "dimensions": [{}, {}], "attributes": [
            {{"name": "v", "type": "int32"}}, {{"name": "s", "type": "string_utf8"}}]}}"#,
            dimension("y"),
            dimension("x")
        );
        shell.pipe(&format!("create {kind} --schema -"), schema.as_bytes());
        for (columns, row, words) in [
            (
                "y,x,v",
                "0,0,1",
                &["no column 's'", "(y, x, v, s)", "add the column"][..],
            ),
            (
                "y,x,v,s,w",
                "0,0,1,a,2",
                &["no field for column 'w'", "y, x, v, s", "rename"],
            ),
            (
                "y,x,v,t",
                "0,0,1,a",
                &["no column 's'", "no field for column 't'", "rename"],
            ),
        ] {
            shell.file("in.csv", format!("{columns}\n{row}\n"));
            check(&shell, &format!("write {kind} in.csv"), 1, words);
        }
    }
    shell.file("in.csv", "y,v,s\n0,1,a\n");
    let words = [
        "for dimension 'y', but none for 'x'",
        "add the missing columns",
        "--select",
    ];
    check(&shell, "write dense in.csv", 1, &words);
    check(&shell, "write dense in.csv --points", 1, &["no column 'x'"]);
    check(&shell, "write sparse in.csv", 1, &["no column 'x'"]);
}

#[test]
fn ranges_outside_the_domain_name_the_dimension_and_show_dates() {
    let shell = Shell::new();
    for kind in ["dense", "sparse"] {
        let schema = format!(
            r#"{{"type": "{kind}", "dimensions": [{{"name": "day", "type": "datetime_day",
            "domain": ["2020-01-01", "2020-12-31"], "tile": 10}}], "attributes": [{{"name": "v", "type": "int32"}}]}}"#
        );
        shell.pipe(&format!("create {kind} --schema -"), schema.as_bytes());
    }
    shell.file("in.csv", "day,v\n2020-12-31,1\n2021-01-01,2\n");
    let words = [
        "dimension 'day'",
        "the range 2020-12-31 to 2021-01-01",
        "the domain, 2020-01-01 to 2020-12-31",
    ];
    check(&shell, "write dense in.csv", 1, &words);
    let words = ["day = 2021-01-01 is outside the domain, 2020-01-01 to 2020-12-31"];
    check(&shell, "write sparse in.csv", 1, &words);
    check(&shell, "write dense in.csv --points", 1, &words);
}

#[test]
fn a_cell_outside_the_domain_is_named_by_line_or_index() {
    let shell = Shell::new();
    let create = |array: &str, dimension: &str, current: &str| {
        let schema = format!(
            r#"{{"type": "sparse", "dimensions": [{dimension}], "current_domain": {current},
            "attributes": [{{"name": "t", "type": "string_utf8", "cell": "var"}}]}}"#
        );
        shell.pipe(&format!("create {array} --schema -"), schema.as_bytes());
    };
    create("numbers", r#"{"name": "i", "type": "int32", "domain": [0, 9]}"#, "null");
    create(
        "words",
        r#"{"name": "w", "type": "string_ascii", "cell": "var"}"#,
        r#"[["a", "f"]]"#,
    );
    shell.file("numbers.csv", "i,t\n0,\"two\nlines\"\n\n10,x\n");
    shell.file("words.csv", "w,t\na,\"two\nlines\"\n\ng,x\n");
    let words = ["line 5: i = 10 is outside the domain, 0 to 9"];
    check(&shell, "write numbers numbers.csv", 1, &words);
    let words = ["line 5: w = ", "g", " is outside the current domain, "];
    check(&shell, "write words words.csv", 1, &words);
    // Cells of files without lines are counted.
    shell.file("numbers.csv", "i,t\n0,x\n10,y\n");
    shell.ok("import numbers.csv wide --sparse --dims i");
    shell.ok("export wide wide.arrow");
    let words = ["cell 1, counted from 0: i = 10 is outside the domain, 0 to 9"];
    check(&shell, "write numbers wide.arrow", 1, &words);
}

#[test]
fn an_import_that_would_lose_data_is_refused() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(2,)", &int16s(2)));
    shell.file("in.csv", "lon,v\n1.5,0.25\n2.5,0.75\n");
    check(
        &shell,
        "import in.csv a --filters float-scale",
        2,
        &["give the scale", "float-scale:0.01:0:4"],
    );
    let unknown = "import in.csv a --sparse --dims lon --domain lon=0:9,lat=0:9";
    check(&shell, unknown, 2, &["no dimension 'lat'", "the dimension is lon"]);
    check(&shell, "import in.npy a --domain d0=0:9", 2, &["the axes of the file"]);
    shell.ok("import in.csv a --sparse --dims lon --domain lon=0:9");
    shell.file("latin.csv", b"id,place\n1,caf\xe9\n");
    check(
        &shell,
        "import latin.csv b",
        1,
        &["line 2, 'place'", "not UTF-8", "convert the file"],
    );
    check(&shell, "import in.npy b --tile=-5", 2, &["1 or more, not -5"]);
    shell.file("whole.csv", "n,v\n1,1\n2,2\n");
    let extent = "import whole.csv b --sparse --dims n --tile n=-5";
    check(&shell, extent, 2, &["dimension 'n'", "1 or more, not -5"]);
    check(
        &shell,
        "import - b --format nc",
        2,
        &["cannot be read from standard input; save the input to a file first"],
    );
    check(
        &shell,
        "export a s3://bucket/out.csv",
        1,
        &["an export goes to a local file"],
    );
    shell.ok("group create g");
    check(&shell, "group add g a --name x/y", 2, &["'x/y' is not a valid name"]);
}

#[test]
fn every_damaged_fragment_is_reported() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --timestamp 1");
    shell.ok("write a in.npy --timestamp 2");
    shell.ok("write a in.npy --timestamp 3");
    std::fs::write(fragment(&shell, "a", 1).join("__fragment_metadata.tdb"), "").unwrap();
    std::fs::write(fragment(&shell, "a", 3).join("a0.tdb"), "short").unwrap();
    let (code, error) = shell.fails("verify a");
    let told = ["__1_1_", "__3_3_", "2 damaged"]
        .iter()
        .all(|part| error.contains(part));
    assert!(code == 1 && told, "{error}");
}

#[test]
fn complex_numbers_are_refused_with_a_way() {
    let shell = Shell::new();
    shell.file("f.npy", npy("'<f8'", "(2,)", &[0; 16]));
    shell.ok("import f.npy a");
    shell.file("c.npy", npy("'<c16'", "(2,)", &[0; 32]));
    let (_, error) = shell.fails("write a c.npy");
    assert!(
        error.contains("2 values") && error.contains(".real and .imag"),
        "{error}"
    );
}

#[test]
fn a_file_instead_of_an_array_and_a_time_before_1970_are_errors() {
    let shell = Shell::new();
    shell.file("in.csv", "d,n\n0,1\n");
    let check = crate::failing::check;
    check(&shell, "ls in.csv", 1, &["it is a file", "hyperslab import in.csv"]);
    check(&shell, "copy in.csv b", 1, &["it is a file", "`cp`"]);
    shell.ok("import in.csv a --sparse --dims d --domain d=0:5");
    check(&shell, "info a --at -5", 2, &["before 1970"]);
    shell.file("far.csv", "d,n\n9,1\n");
    check(
        &shell,
        "write a far.csv",
        1,
        &["outside the domain, 0 to 5", "larger --domain"],
    );
}

#[cfg(unix)]
#[test]
fn an_export_is_written_through_a_dangling_link() {
    let shell = Shell::new();
    shell.file("in.csv", "d,n\n0,1\n");
    shell.ok("import in.csv a --sparse --dims d --timestamp 4000000000000");
    std::os::unix::fs::symlink("real.csv", shell.path("link.csv")).unwrap();
    let out = shell.run("export a link.csv", b"");
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(
        out.status.success() && told.contains("nothing was written until"),
        "{told}"
    );
    assert!(shell.path("link.csv").symlink_metadata().unwrap().is_symlink());
    assert!(shell.path("real.csv").is_file());
}

/// The schema of an array whose enumeration `levels` has these values.
fn levels(values: &str) -> String {
    format!(
        r#"{{"type": "dense", "dimensions": [{{"name": "i", "type": "int32", "domain": [0, 2]}}],
        "attributes": [{{"name": "e", "type": "int8", "enumeration": "levels"}}],
        "enumerations": [{{"name": "levels", "values": {values}}}]}}"#
    )
}

#[test]
fn a_repeated_value_of_an_enumeration_is_named() {
    let shell = Shell::new();
    let cases = [
        (r#"["hi", "lo", "lo"], "type": "string_utf8""#, "'lo'"),
        (r#"["", ""], "type": "string_utf8""#, "''"),
        (r#"[1.5, 2, 1.5], "type": "float64""#, "'1.5'"),
    ];
    for (values, name) in cases {
        shell.file("schema.json", levels(values));
        let named = format!("'levels' has the value {name} twice");
        check(
            &shell,
            "create a --schema schema.json",
            1,
            &["levels", &named, "leave out"],
        );
        assert_eq!(shell.names(), ["schema.json"]);
    }
    shell.file("schema.json", levels(r#"["lo", "hi"], "type": "string_utf8""#));
    shell.ok("create a --schema schema.json");
    check(
        &shell,
        "evolve a --extend-enum levels=top,lo",
        1,
        &[" a: ", "the value 'lo' twice", "leave out"],
    );
}

#[test]
fn verify_reports_a_repeated_value_of_an_enumeration() {
    let shell = Shell::new();
    shell.file("schema.json", levels(r#"["lo", "hi"], "type": "string_utf8""#));
    shell.ok("create a --schema schema.json");
    shell.ok("verify a");
    let files = std::fs::read_dir(shell.path("a/__schema/__enumerations")).unwrap();
    let file = files.map(|f| f.unwrap().path()).next().unwrap();
    let (payload, _) = generic_tile::decode(&std::fs::read(&file).unwrap(), None).unwrap();
    let mut levels = Enumeration::decode(&payload).unwrap();
    levels.values = Column::from_cells(Datatype::StringUtf8, ["lo", "lo"]);
    let bytes = generic_tile::encode(&levels.encode(), None, &Nonces::none()).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let (code, error) = shell.fails("verify a");
    assert!(
        code == 1 && error.contains("__enumerations/") && error.contains("the value 'lo' twice"),
        "{error}"
    );
}
