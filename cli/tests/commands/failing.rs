use crate::{Shell, int16s, npy};

/// Checks that the command fails with this exit code, in one error with these words, and creates nothing.
#[track_caller]
pub(crate) fn check(shell: &Shell, line: &str, code: i32, words: &[&str]) {
    let before = shell.names();
    let (got, error) = shell.fails(line);
    assert_eq!(got, code, "{line}: {error}");
    assert!(
        error.starts_with("error: ") && error.trim_end().lines().count() == 1,
        "{line}: {error}"
    );
    for word in words {
        assert!(error.contains(word), "{line}: {error}");
    }
    assert_eq!(shell.names(), before, "{line} leaves files behind");
}

#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_error_message_is_no_panic() {
    let shell = Shell::new();
    for line in ["info nowhere", "no-such-command"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let expected = shell.fails(line).0;
        let status = shell.command(line).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{line}");
    }
}

#[test]
fn errors_say_what_and_why_and_leave_no_files() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.file("short.npy", npy("'<i2'", "(3, 4)", &int16s(5)));
    shell.file("bad.json", "{");
    let dimensions =
        r#"[{"name": "i", "type": "int32", "domain": [0, 2]}, {"name": "j", "type": "int32", "domain": [0, 3]}]"#;
    let attributes = r#"[{"name": "x", "type": "int16"}, {"name": "y", "type": "int16"}]"#;
    let both = format!(r#"{{"type": "dense", "dimensions": {dimensions}, "attributes": {attributes}}}"#);
    shell.file("both.json", both);
    shell.ok("import in.npy a");
    shell.file("points.csv", "x,v\n1,1\n");
    shell.ok("import points.csv points --sparse --dims x");
    check(&shell, "export points out.png", 1, &["a sparse array has no pixels"]);
    check(&shell, "info nowhere", 1, &["nowhere", "not found"]);
    check(&shell, "export nowhere out.csv", 1, &["cannot open nowhere"]);
    check(&shell, "import in.npy a", 1, &["a: already exists"]);
    check(
        &shell,
        "import short.npy b",
        1,
        &["short.npy", "ends after 10 of 24 bytes"],
    );
    check(&shell, "import missing.npy b", 1, &["missing.npy"]);
    check(&shell, "create b --schema bad.json", 1, &["bad.json"]);
    check(
        &shell,
        "export a no/such/folder/out.csv",
        1,
        &["no/such/folder/out.csv", "create the folder"],
    );
    shell.ok("create both --schema both.json");
    check(
        &shell,
        "write both in.npy",
        1,
        &["no column 'x'", "but one without a name"],
    );
    check(&shell, "export both out.png", 1, &["name one of x, y\n"]);
    shell.ok("group create g");
    check(&shell, "schema g", 1, &["cannot open g", "it is a group"]);
    check(&shell, "copy a http://127.0.0.1:9/b", 1, &["writing over HTTP"]);
    check(&shell, "info s3:/x", 1, &["write s3://bucket/path"]);
    check(&shell, "meta get a nothing", 1, &["no metadata key 'nothing'"]);
    check(&shell, "--key-file in.npy info a", 2, &["--key-file", "64 hex digits"]);
    shell.secret("key", [7; 32]);
    let (_, plain) = shell.fails("--key-file key info a");
    assert!(plain.trim_end().ends_with("open it without a key"), "{plain}");
}

#[test]
fn wrong_usage_is_code_2() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    check(&shell, "explode a", 2, &["explode"]);
    check(&shell, "export a", 2, &["OUT"]);
    check(&shell, "export a out.xyz", 2, &["out.xyz", ".arrow", ".npy"]);
    check(&shell, "export a -", 2, &["--format"]);
    check(
        &shell,
        "export a out.csv --at yesterday",
        2,
        &["yesterday", "milliseconds"],
    );
    check(
        &shell,
        "export a out.csv --select 0:1,0:1,0:1",
        2,
        &["--select", "more dimensions"],
    );
    check(
        &shell,
        "export a out.csv --attrs nope",
        2,
        &["no attribute 'nope'", "data"],
    );
    check(&shell, "export a out.csv --where 'data >'", 2, &["--where"]);
    let mistyped = r#"export a - --format csv --where 'data == "x"'"#;
    check(&shell, mistyped, 2, &["--where", "cannot be compared with a string"]);
    check(
        &shell,
        "export a out.csv --where '-1 < nope'",
        2,
        &["--where", "no field 'nope'"],
    );
    check(
        &shell,
        "delete a --where 'nope is null'",
        2,
        &["--where", "no field 'nope'"],
    );
    check(&shell, "export a out.npy --order global", 2, &["--order"]);
    check(
        &shell,
        "export a out.png --order col",
        2,
        &["--order", "a .png of a dense array is in row order"],
    );
    check(&shell, "import in.npy b --tile 1,2,3", 2, &["--tile"]);
    check(&shell, "import in.npy b --filters zsdt:5", 2, &["--filters", "zsdt"]);
    check(&shell, "evolve a", 2, &["--add-attr"]);
    let (_, error) = shell.fails("consolidate a --mode all");
    assert!(
        error.ends_with("; one of fragments, fragment-meta, commits, array-meta\n"),
        "{error}"
    );
}

#[test]
fn damage_is_reported_and_nothing_is_exported() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(30, 40)", &int16s(1200)));
    shell.ok("import in.npy a --filters zstd,sha256");
    let verified = shell.ok("verify a");
    assert!(
        verified.starts_with("a: sound (") && verified.ends_with(" read)\n"),
        "{verified}"
    );
    let fragments = std::fs::read_dir(shell.path("a/__fragments")).unwrap();
    let data = fragments.map(|f| f.unwrap().path().join("a0.tdb")).next().unwrap();
    let mut bytes = std::fs::read(&data).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&data, bytes).unwrap();
    check(&shell, "export a out.npy", 1, &["a0.tdb"]);
    let (code, error) = shell.fails("verify a");
    assert_eq!(code, 1);
    assert!(error.contains("a0.tdb") && error.contains("1 damaged"), "{error}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let shell = Shell::new();
    let data: Vec<u8> = vec![7; 3_000_000];
    shell.file("in.npy", npy("'|u1'", "(3000, 1000)", &data));
    shell.ok("import in.npy a");
    for line in [
        "export a - --format csv",
        "info a",
        "schema a",
        "ls .",
        "meta ls a --json",
    ] {
        let mut child = shell
            .command(line)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{line}: {output:?}"
        );
    }
}

#[test]
fn encrypted_arrays_need_their_key() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.secret("key", [7; 32]);
    shell.secret("hex", "07".repeat(32) + "\n");
    shell.secret("other", [8; 32]);
    shell.ok("--key-file key import in.npy a");
    assert_eq!(
        shell.ok("export a - --format csv --select 0,0 --key-file hex"),
        "d0,d1,data\n0,0,0\n"
    );
    check(&shell, "info a", 1, &["it is encrypted", "--key-file"]);
    check(&shell, "info a --key-file other", 1, &["--key-file"]);
}

#[cfg(unix)]
#[test]
fn a_key_file_that_everybody_can_read_is_a_warning() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.secret("key", [7; 32]);
    shell.ok("--key-file key import in.npy a");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(shell.path("key"), everybody).unwrap();
    let output = shell.run("--key-file key info a", b"");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && error.contains("run `chmod 600 key`"),
        "{error}"
    );
}

#[test]
fn a_listing_with_a_key_includes_unencrypted_arrays() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.secret("key", [7; 32]);
    shell.secret("other", [8; 32]);
    std::fs::create_dir(shell.path("f")).unwrap();
    shell.ok("import in.npy f/plain");
    shell.ok("group create f/group");
    shell.ok("import in.npy f/group/member");
    shell.ok("group add f/group f/group/member");
    shell.ok("--key-file key import in.npy f/hidden");
    for (command, times) in [("ls f", 2), ("tree f", 3)] {
        let listed = shell.ok(&format!("--key-file key {command}"));
        assert_eq!(listed.matches("3 × 4").count(), times, "{command}: {listed}");
    }
    let output = shell.run("--key-file other tree f", b"");
    let error = crate::in_lines(&output.stderr);
    assert!(!output.status.success(), "{error}");
    assert!(error.contains("f/hidden: ") && error.lines().count() == 1, "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_the_file_name() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    for format in ["arrow", "npy", "csv"] {
        let words = ["cannot write /dev/full", "No space left on device", "free some space"];
        check(&shell, &format!("export a /dev/full --format {format}"), 1, &words);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let export = format!("export a - --format {format}");
        let output = shell.command(&export).stdout(full).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("cannot write standard output"), "{error}");
        assert_eq!(output.status.code(), Some(1), "{error}");
    }
}

/// A limit on the size of files ends a program that exceeds it. So it shows whether anything is written.
#[cfg(unix)]
#[test]
fn an_export_without_room_is_refused_before_it_is_written() {
    let shell = Shell::new();
    let create = |array: &str, last: u64| {
        let schema = format!(
            r#"{{"type": "dense", "dimensions": [{{"name": "i", "type": "uint64", "domain": [0, {last}], "tile": 1000000}}],
            "attributes": [{{"name": "v", "type": "int64"}}]}}"#
        );
        shell.pipe(&format!("create {array} --schema -"), schema.as_bytes());
    };
    // 2^60 bytes, and more than 64 bits can count.
    create("large", (1 << 57) - 1);
    create("endless", 1 << 63);
    let before = shell.names();
    for (array, bytes) in [("large", "1152921504606846976"), ("endless", "18446744073709551615")] {
        let mut limited = std::process::Command::new("sh");
        let program = env!("CARGO_BIN_EXE_hyperslab");
        limited.current_dir(shell.dir.path());
        let limit = r#"ulimit -f 100 && exec "$@""#;
        limited.args(["-c", limit, "sh", program, "export", array, "out.bin", "--select", ":"]);
        let output = limited.output().unwrap();
        let error = crate::in_lines(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{array}: {output:?}");
        for words in [
            "cannot write out.bin: it needs at least ",
            bytes,
            "select fewer cells, or use another disk",
        ] {
            assert!(error.contains(words), "{array}: {error}");
        }
        assert_eq!(shell.names(), before, "{array}");
    }
}

#[test]
fn verify_reports_tiles_without_checksums() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v,w\n1,1,a\n2,2,b\n3,2,c\n4,1,d\n");
    shell.ok("import in.csv a --sparse --dims x --filters none");
    let told = shell.ok("verify a");
    assert!(
        told.starts_with("a: no damage found (")
            && told.contains("have no checksum, so damage to them may go unnoticed: "),
        "{told}"
    );
    for name in ["x", "v", "w"] {
        assert!(told.contains(&format!(" {name}")), "{told}");
    }
    assert!(told.contains("add the filter sha256"), "{told}");
    // Statistics detect some damage nevertheless.
    let fragments = std::fs::read_dir(shell.path("a/__fragments")).unwrap();
    let data = fragments.map(|f| f.unwrap().path().join("a0.tdb")).next().unwrap();
    let mut bytes = std::fs::read(&data).unwrap();
    *bytes.last_mut().unwrap() ^= 0x40;
    std::fs::write(&data, bytes).unwrap();
    let (code, error) = shell.fails("verify a");
    assert!(
        code == 1 && error.contains("differs from its fragment's metadata"),
        "{error}"
    );
}

#[test]
fn nothing_is_created_inside_an_array() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    for line in [
        "import in.npy a/b",
        "group create a/g",
        "import in.npy ./a/__meta/b",
        "export a a/out.csv",
        "export a a/__meta/out.csv --force",
    ] {
        let (code, error) = shell.fails(line);
        assert!(code == 1 && error.contains("inside"), "{line}: {error}");
    }
    // Arrays that an earlier release created there are shown.
    shell.ok("import in.npy b");
    std::fs::rename(shell.path("b"), shell.path("a/b")).unwrap();
    let told = shell.ok("ls a");
    assert!(told.lines().count() == 2 && told.contains("inside an array"), "{told}");
    let tree = shell.ok("tree .");
    assert!(tree.contains("b") && tree.contains("inside an array"), "{tree}");
}

#[test]
fn adding_a_member_does_not_replace_another_one() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    for name in ["g/a", "g/b", "a"] {
        shell.ok(&format!("import in.npy {name}"));
    }
    shell.ok("group add g g/a");
    let members = shell.ok("group ls g");
    let changes = || std::fs::read_dir(shell.path("g/__group")).unwrap().count();
    let before = changes();
    for line in ["group add g g/b --name a", "group add g ./a"] {
        let needles = [
            "the group has a member 'a' already, at g/a",
            "run `hyperslab group rm g a` first, or choose another --name",
        ];
        check(&shell, line, 1, &needles);
    }
    shell.ok("group add g g/a");
    shell.ok("group add g ./g/../g/a --name a");
    assert_eq!((shell.ok("group ls g"), changes()), (members, before));
    shell.ok("group add g a --name above");
    shell.ok("group add g ./a --name above");
    check(
        &shell,
        "group add g g/b --name above",
        1,
        &["already, at file://", "group rm g above`"],
    );
}

#[test]
fn a_write_does_not_round_whole_numbers() {
    let shell = Shell::new();
    let file = |v: &str| shell.file("in.csv", format!("x,v\n1,2\n2,{v}\n"));
    for (datatype, whole, rounded) in [
        ("float32", "16777217", "16777216"),
        ("float64", "-9007199254740993", "-9007199254740992"),
    ] {
        file(whole);
        // An import rounds, with a warning for float32.
        let imported = shell.run(&format!("import in.csv {datatype} --dims x --types v={datatype}"), b"");
        assert!(imported.status.success());
        let written = shell.ok(&format!("export {datatype} - --format csv"));
        let why = format!("line 3, 'v': '{whole}': {datatype} would round it to {rounded}; write that number");
        check(
            &shell,
            &format!("write {datatype} in.csv"),
            1,
            &[&why, "import the file into a new array"],
        );
        assert_eq!(shell.ok(&format!("export {datatype} - --format csv")), written);
        for fine in [rounded, "0.1", "-0", "+007", "16777217.5", "16777218", "inf", "nan"] {
            file(fine);
            shell.ok(&format!("write {datatype} in.csv"));
        }
    }
}

#[test]
fn a_domain_that_ends_before_its_start_is_refused() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,2\n");
    let why = "the end of 'x=9:0' is before its start; write DIM=LO:HI";
    check(&shell, "import in.csv a --dims x --domain x=9:0", 2, &["--domain", why]);
    shell.ok("import in.csv a --dims x --domain x=0:9");
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_no_target() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,2\n");
    shell.ok("import in.csv a --dims x");
    std::os::unix::fs::symlink("nowhere", shell.path("link")).unwrap();
    for line in ["import in.csv link --dims x", "copy a link", "group create link"] {
        check(
            &shell,
            line,
            1,
            &[
                "link: is a link to something that does not exist",
                "remove the link first",
            ],
        );
    }
    assert_eq!(shell.names(), ["a", "in.csv", "link"]);
}

#[test]
fn concurrent_schema_changes_all_succeed() {
    let shell = Shell::new();
    shell.file("t.csv", "x,a\n1,1\n");
    shell.ok("import t.csv e --sparse --dims x");
    let start = |i: usize| {
        shell
            .command(&format!("evolve e --add-attr n{i}:int32"))
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..5).map(start).collect();
    for mut program in running {
        assert!(program.wait().unwrap().success());
    }
    let schema = shell.ok("schema e");
    assert!((0..5).all(|i| schema.contains(&format!("\"n{i}\""))), "{schema}");
}

#[test]
fn a_folder_in_place_of_a_delete_revives_no_cells() {
    let shell = Shell::new();
    shell.file("t.csv", "x,a\n1,1\n2,2\n");
    shell.ok("import t.csv e --sparse --dims x");
    shell.ok("delete e --where 'a == 1'");
    let commits = std::fs::read_dir(shell.path("e/__commits")).unwrap();
    let delete = commits
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "del"))
        .unwrap();
    std::fs::remove_file(&delete).unwrap();
    std::fs::create_dir(&delete).unwrap();
    for command in ["export e - --format csv", "verify e", "info e"] {
        let output = shell.run(command, b"");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && error.contains("folder in place of a file"),
            "{command}: {error}"
        );
    }
}
