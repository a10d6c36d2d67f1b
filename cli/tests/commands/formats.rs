use crate::{Shell, int16s, npy, values};

fn grid() -> Shell {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --tile 2,2 --dims y,x");
    shell
}

#[test]
fn every_format_by_its_ending() {
    let shell = grid();
    for ending in ["arrow", "npy", "csv", "tsv", "json", "jsonl", "bin", "png"] {
        shell.ok(&format!("export a out.{ending}"));
        let named = shell.bytes(&format!("out.{ending}"));
        assert_eq!(
            named,
            shell.pipe(&format!("export a - --format {ending}"), b""),
            "{ending}"
        );
    }
    assert_eq!(shell.bytes("out.bin"), int16s(12));
    assert!(shell.bytes("out.png").starts_with(b"\x89PNG"));
    assert!(shell.bytes("out.arrow").starts_with(b"ARROW1"));
    let json: serde_json::Value = serde_json::from_slice(&shell.bytes("out.json")).unwrap();
    assert_eq!(json[5], serde_json::json!({"y": 1, "x": 1, "data": 5}));
}

#[test]
fn selections_attributes_and_orders() {
    let shell = grid();
    assert_eq!(
        shell.ok("export a - --format csv --select 1:3,2"),
        "y,x,data\n1,2,6\n2,2,10\n"
    );
    assert_eq!(
        shell.ok("export a - --format csv --select 2,::2"),
        "y,x,data\n2,0,8\n2,2,10\n"
    );
    let npy = shell.pipe("export a - --format npy --select 1:3,2", b"");
    assert!(
        String::from_utf8_lossy(&npy).contains("'shape': (2,)"),
        "an axis along which one coordinate is named goes"
    );
    assert_eq!(values(&npy), [6, 0, 10, 0]);
    let global = shell.ok("export a - --format csv --order global --select 0:2,:");
    assert_eq!(
        global,
        "y,x,data\n0,0,0\n0,1,1\n1,0,4\n1,1,5\n0,2,2\n0,3,3\n1,2,6\n1,3,7\n"
    );
}

#[test]
fn batches_join_without_a_seam() {
    let shell = Shell::new();
    // More than one batch of the least memory there is, and more than one part of text.
    let data: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    shell.file("in.npy", npy("'<u4'", "(3000, 1000)", &data));
    shell.ok("import in.npy a --tile 333,211");
    assert_eq!(values(&shell.pipe("export a - --format npy --memory 20KiB", b"")), data);
    let table = shell.ok("export a - --format csv --memory 20KiB --select 990:1200,:");
    let mut lines = table.lines().skip(1).enumerate();
    assert!(lines.all(|(i, line)| line == format!("{},{},{}", 990 + i / 1000, i % 1000, 990_000 + i)));
    assert_eq!(table.lines().count(), 210_001);
}

#[test]
fn a_dense_array_nobody_wrote_exports_no_cells() {
    let shell = grid();
    let schema = shell.pipe("schema a", b"");
    shell.pipe("create b --schema -", &schema);
    assert_eq!(shell.ok("export b - --format csv"), "y,x,data\n");
    assert_eq!(
        shell.ok("export b - --format csv --select 1,1"),
        "y,x,data\n1,1,-32768\n"
    );
    assert!(String::from_utf8_lossy(&shell.pipe("export b - --format npy", b"")).contains("'shape': (0, 0)"));
}

/// Words that start with a dot and go on with letters.
fn endings(text: &str) -> Vec<&str> {
    let words = text.split([' ', '\n', ';', ',']).filter_map(|w| w.strip_prefix('.'));
    words
        .filter(|w| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase()))
        .collect()
}

#[test]
fn every_ending_that_is_listed_is_taken_and_no_other() {
    let shell = grid();
    let about = |command: &str| {
        shell
            .ok(&format!("{command} --help"))
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let told = |line: &str| shell.fails(line).1;
    let written = about("export");
    let written = endings(&written);
    assert_eq!(endings(&told("export a out.xyz")), written);
    assert!(written.contains(&"tsv") && written.contains(&"png"), "{written:?}");
    for ending in &written {
        shell.ok(&format!("export a out.{ending}"));
    }
    let read = about("import");
    let read = endings(&read);
    assert_eq!(endings(&about("write")), read);
    assert!(read.contains(&"npz") && read.contains(&"tsv"), "{read:?}");
    for ending in &read {
        // None of them is refused for its ending.
        let name = if *ending == "npz" {
            "lost.npz".to_owned()
        } else {
            format!("out.{ending}")
        };
        for line in [format!("import {name} b-{ending}"), format!("write a {name}")] {
            let output = shell.run(&line, b"");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), *ending != "npz", "{line}: {error}");
            assert!(*ending != "npz" || error.contains("No such file"), "{line}: {error}");
        }
    }
    for ending in ["json", "jsonl", "ndjson", "bin", "png"] {
        for line in [format!("import out.{ending} c"), format!("write a out.{ending}")] {
            let (code, error) = shell.fails(&line);
            assert_eq!(code, 2, "{line}: {error}");
            assert!(error.contains("can only be written"), "{line}: {error}");
            assert_eq!(endings(error.split_once("the endings are").unwrap().1), read, "{line}");
        }
        let (_, error) = shell.fails(&format!("write a - --format {ending}"));
        assert!(error.contains("arrow, npy, npz, csv, tsv]"), "{error}");
    }
    let (_, error) = shell.fails("export a out.npz");
    assert!(error.contains("can only be read"), "{error}");
    assert_eq!(endings(error.split_once("the endings are").unwrap().1), written);
    let (code, error) = shell.fails("export a - --format npz");
    assert!(
        code == 2 && error.contains("arrow, npy, csv, tsv, json, jsonl, bin, png]"),
        "{error}"
    );
}
