use crate::{Shell, int16s, npy};

#[test]
fn every_version_stays_readable() {
    let shell = Shell::new();
    shell.file("0.npy", npy("'<i2'", "(4,)", &int16s(4)));
    shell.file("1.npy", npy("'<i2'", "(2,)", &[9, 0, 9, 0]));
    shell.ok("import 0.npy a --timestamp 100");
    shell.ok("write a 1.npy --select 1:3 --timestamp 200");
    let now = "d0,data\n0,0\n1,9\n2,9\n3,3\n";
    assert_eq!(shell.ok("export a - --format csv"), now);
    assert_eq!(
        shell.ok("export a - --format csv --at 199"),
        "d0,data\n0,0\n1,1\n2,2\n3,3\n"
    );
    assert_eq!(shell.ok("export a - --format csv --at 150..250"), "d0,data\n1,9\n2,9\n");
    shell.ok("consolidate a");
    assert_eq!(shell.ok("export a - --format csv"), now);
    let would = shell.ok("vacuum a --dry-run");
    assert!(!would.is_empty());
    assert_eq!(shell.ok("vacuum a"), would);
    assert_eq!(shell.ok("vacuum a"), "");
    assert_eq!(shell.ok("export a - --format csv"), now);
    assert_eq!(std::fs::read_dir(shell.path("a/__fragments")).unwrap().count(), 1);
}

#[test]
fn distant_boxes_are_merged_with_a_larger_amplification() {
    let shell = Shell::new();
    let dimension = r#"{"name":"x","type":"int32","domain":[0,99],"tile":5}"#;
    let attribute = r#"{"name":"v","type":"int16"}"#;
    let schema = format!(r#"{{"type":"dense","dimensions":[{dimension}],"attributes":[{attribute}]}}"#);
    shell.file("schema.json", schema);
    shell.file("2.npy", npy("'<i2'", "(2,)", &int16s(2)));
    shell.ok("create a --schema schema.json");
    shell.ok("write a 2.npy --select 0:2 --timestamp 100");
    assert_eq!(shell.ok("consolidate a"), "a: nothing to consolidate\n");
    shell.ok("write a 2.npy --select 98: --timestamp 200");
    let before = shell.ok("export a - --format csv");
    let why = shell.ok("consolidate a");
    assert!(
        why.starts_with("a: nothing to consolidate: one box around all fragments would be mostly empty"),
        "{why}"
    );
    assert_eq!(shell.ok("consolidate a --at 0..150"), "a: nothing to consolidate\n");
    assert!(shell.ok("consolidate a --amplification 10").starts_with("__100_200_"));
    assert_eq!(shell.ok("export a - --format csv"), before);
    crate::failing::check(
        &shell,
        "consolidate a --amplification 0",
        2,
        &["--amplification", "give 1 or more"],
    );
}

#[test]
fn an_invalid_time_says_how_to_write_times() {
    let shell = Shell::new();
    let words = [
        "'20-20' is not a time; write 2020, 2020-01, ",
        "milliseconds since 1970 as a number",
    ];
    crate::failing::check(&shell, "info a --at 20-20", 2, &words);
    crate::failing::check(&shell, "info a --at 1500", 2, &["'1500' is before 1970; write 1500ms"]);
}

#[test]
fn four_digits_are_a_year_and_a_period_includes_its_end() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,1\n");
    shell.file("more.csv", "x,v\n2,2\n");
    shell.ok("import in.csv a --sparse --dims x --domain x=0:9 --timestamp 2021");
    shell.ok("write a more.csv --timestamp 2021-12-31T23:59");
    for (at, rows) in [
        ("2099", "x,v\n1,1\n2,2\n"),
        ("2021", "x,v\n1,1\n2,2\n"),
        ("20211231", "x,v\n1,1\n2,2\n"),
        ("2021-01", "x,v\n1,1\n"),
        ("2021..2021-11", "x,v\n1,1\n"),
        ("2021-02..2021", "x,v\n2,2\n"),
        ("1609459200000", "x,v\n1,1\n"),
    ] {
        assert_eq!(shell.ok(&format!("export a - --format csv --at {at}")), rows, "{at}");
    }
}

#[test]
fn deletes_and_new_schemas_apply_from_their_timestamp_on() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,a\n2,b\n3,c\n");
    shell.ok("import in.csv a --sparse --dims x --timestamp 100");
    shell.ok("delete a --where 'x >= 2 and x != 3' --timestamp 200");
    assert_eq!(shell.ok("export a - --format csv"), "x,v\n1,a\n3,c\n");
    assert_eq!(shell.ok("export a - --format csv --at 199"), "x,v\n1,a\n2,b\n3,c\n");
    shell.ok("evolve a --add-attr n:int32? --timestamp 300");
    let (_, early) = shell.fails("delete a --where 'n > 4' --timestamp 299");
    assert!(
        early.contains("no field 'n' of this type at the time of the delete"),
        "{early}"
    );
    shell.ok("evolve a --drop-attr v --timestamp 400");
    assert_eq!(shell.ok("export a - --format csv"), "x,n\n1,\n3,\n");
    assert_eq!(shell.ok("export a - --format csv --at 350"), "x,v,n\n1,a,\n3,c,\n");
}

#[test]
fn future_timestamps_are_not_visible_yet() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,1\n2,2\n");
    shell.file("more.csv", "x,v\n2,9\n");
    shell.file("later.csv", "x,v\n4,4\n");
    shell.ok("import in.csv a --sparse --dims x --domain x=0:9 --timestamp 100");
    shell.ok("write a later.csv --timestamp 200");
    shell.ok("write a more.csv --timestamp 2100-01-01");
    shell.ok("meta set a unit metre --timestamp 2100-01-01");
    shell.ok("evolve a --add-attr n:int32? --timestamp 2100-01-01");
    assert_eq!(shell.ok("export a - --format csv"), "x,v\n1,1\n2,2\n4,4\n");
    assert_eq!(shell.ok("meta ls a"), "");
    assert_eq!(
        shell.ok("export a - --format csv --at 0.."),
        "x,v,n\n1,1,\n2,2,\n2,9,\n4,4,\n"
    );
    assert_eq!(shell.ok("meta get a unit --at 2100-01-01"), "metre\n");
    assert!(shell.ok("info a").contains("2100-01-01"));
    shell.ok("meta set a unit foot --timestamp 100");
    shell.ok("meta set a unit inch --timestamp 200");
    for mode in ["fragments", "array-meta"] {
        shell.ok(&format!("consolidate a --mode {mode}"));
        shell.ok(&format!("vacuum a --mode {mode}"));
    }
    assert_eq!(shell.ok("export a - --format csv"), "x,v\n1,1\n2,2\n4,4\n");
    assert_eq!(shell.ok("meta get a unit"), "inch\n");
    assert_eq!(shell.ok("meta get a unit --at 2100-01-01"), "metre\n");
}

#[test]
fn an_attribute_that_is_added_again_keeps_its_labels() {
    let shell = Shell::new();
    let json = r#"{"type": "sparse", "dimensions": [{"name": "x", "type": "int32", "domain": [0, 9]}],
        "enumerations": [{"name": "E", "type": "string_utf8", "values": ["red", "green"]}],
        "attributes": [{"name": "e", "type": "int8", "enumeration": "E"}, {"name": "k", "type": "int8"}]}"#;
    shell.file("schema.json", json);
    shell.file("in.csv", "x,e,k\n1,green,5\n2,red,6\n");
    shell.ok("create a --schema schema.json --timestamp 100");
    shell.ok("write a in.csv --timestamp 200");
    shell.ok("evolve a --drop-attr e --drop-enum E --timestamp 300");
    let again = |values: &str, time: u64| {
        let e = format!(r#"{{"name":"E","type":"string_utf8","values":[{values}]}}"#);
        let attribute = r#"{"name":"e","type":"int8","enumeration":"E"}"#;
        format!("evolve a --timestamp {time} --add-enum {e} --add-attr {attribute}")
    };
    let (_, error) = shell.fails(&again(r#""cat","dog""#, 400));
    assert!(error.contains("start the enumeration with the old values"), "{error}");
    shell.ok(&again(r#""red","green","blue""#, 400));
    assert_eq!(shell.ok("export a - --format csv"), "x,k,e\n1,5,green\n2,6,red\n");
}

#[test]
fn the_last_of_several_writes_with_one_timestamp_wins() {
    let shell = Shell::new();
    shell.file("0.npy", npy("'<i2'", "(1,)", &[0, 0]));
    shell.ok("import 0.npy a --timestamp 100");
    shell.ok("group create g");
    for n in 1..9_u8 {
        shell.file("n.npy", npy("'<i2'", "(1,)", &[n, 0]));
        shell.ok("write a n.npy --timestamp 200");
        assert_eq!(shell.ok("export a - --format csv"), format!("d0,data\n0,{n}\n"));
        for place in ["a", "g"] {
            shell.ok(&format!("meta {place} set k {n} --timestamp 200"));
            assert_eq!(shell.ok(&format!("meta {place} get k")), format!("{n}\n"));
        }
        if n % 3 == 0 {
            shell.ok("consolidate a --mode commits");
            shell.ok("vacuum a --mode commits");
            assert_eq!(shell.ok("export a - --format csv"), format!("d0,data\n0,{n}\n"));
        }
        shell.ok("group add g a --timestamp 200");
        assert!(shell.ok("group ls g").contains('a'));
        shell.ok("group rm g a --timestamp 200");
        assert_eq!(shell.ok("group ls g"), "");
    }
}

#[test]
fn a_clock_behind_the_array_is_an_error_before_the_write() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,1\n2,2\n");
    shell.ok("import in.csv a --sparse --dims x --domain x=0:9 --timestamp 100");
    shell.ok("group create g");
    shell.ok("write a in.csv --timestamp 2100-01-01");
    shell.ok("meta a set k 1 --timestamp 2100-01-01");
    shell.ok("meta g set k 1 --timestamp 2100-01-01");
    shell.ok("group add g a --timestamp 2100-01-01");
    for line in [
        "write a in.csv",
        "delete a --where 'x == 1'",
        "meta a set k 2",
        "meta g set k 2",
        "group rm g a",
    ] {
        let (_, error) = shell.fails(line);
        let parts = [
            "has the timestamp 2100-01-01",
            "this machine's clock says",
            "Correct the clock",
            "--timestamp now",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
    }
    assert_eq!(shell.ok("export a - --format csv"), "x,v\n1,1\n2,2\n");
    // With `now`, a delete before a future timestamp is deliberate.
    shell.ok("delete a --where 'x == 1' --timestamp now");
    assert_eq!(shell.ok("export a - --format csv"), "x,v\n2,2\n");
    assert_eq!(shell.ok("export a - --format csv --at 0.."), "x,v\n1,1\n2,2\n2,2\n");
}

#[test]
fn a_write_follows_one_by_a_clock_seconds_ahead() {
    let shell = Shell::new();
    shell.file("0.npy", npy("'<i2'", "(1,)", &[0, 0]));
    shell.file("1.npy", npy("'<i2'", "(1,)", &[1, 0]));
    shell.ok("import 0.npy a --timestamp 100");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let ahead = now.as_millis() + 2000;
    shell.ok(&format!("write a 0.npy --timestamp {ahead}"));
    shell.ok("write a 1.npy");
    assert_eq!(shell.ok("export a - --format csv"), "d0,data\n0,1\n");
    assert_eq!(shell.ok("export a - --format csv --at 0.."), "d0,data\n0,1\n");
}

#[test]
fn a_dry_run_does_not_wait_for_a_clock_ahead() {
    let shell = Shell::new();
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    shell.file("in.csv", "x,v\n1,1\n2,2\n");
    let ahead = now().unwrap().as_millis() + 4000;
    shell.ok(&format!("import in.csv a --sparse --dims x --timestamp {ahead}"));
    let dry = shell.ok("delete a --where 'x == 1' --dry-run");
    assert!(now().unwrap().as_millis() < ahead, "the dry run waited");
    assert!(dry.ends_with("a: 1 cells would be deleted\n"), "{dry}");
}

#[test]
fn a_merge_names_the_attributes_that_it_does_not_keep() {
    let shell = Shell::new();
    shell.file("old.csv", "d,v,w\n1,5,1\n");
    shell.file("new.csv", "d,w\n2,2\n");
    shell.ok("import old.csv a --sparse --dims d --domain d=0:9 --timestamp 100");
    shell.ok("write a old.csv --timestamp 110");
    let told = |line: &str| String::from_utf8(shell.run(line, b"").stderr).unwrap();
    assert_eq!(told("consolidate a"), "", "no attribute was dropped");
    shell.ok("evolve a --drop-attr v --timestamp 200");
    shell.ok("write a new.csv --timestamp 300");
    let note = told("consolidate a");
    assert!(
        note.starts_with("note: a: attribute 'v' was dropped") && note.lines().count() == 1,
        "{note}"
    );
    let past = shell.ok("export a - --format csv --at 150");
    assert!(past.starts_with("d,v,w\n1,-9223372036854775808,1\n"), "{past}");
}

#[test]
fn an_export_before_the_first_write_prints_a_message() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(4,)", &int16s(4)));
    shell.ok("import in.npy a --timestamp 100");
    let output = shell.run("export a - --format csv --select 0:2 --at 1999", b"");
    assert!(output.status.success() && output.stderr.is_empty());
    let empty = shell.run("export a - --format csv --at 0..99", b"");
    let told = String::from_utf8(empty.stderr).unwrap();
    assert!(
        told.contains("nothing was written until 1970-01-01T00:00:00.099Z") && told.contains("00.100Z"),
        "{told}"
    );
}
