use crate::{Shell, int16s, npy, values};

fn grid() -> Shell {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --tile 2,2 --dims y,x");
    shell
}

#[test]
fn the_extension_selects_the_format() {
    let shell = grid();
    for ending in ["arrow", "npy", "csv", "tsv", "json", "jsonl", "bin", "png", "parquet"] {
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
    assert!(shell.bytes("out.parquet").starts_with(b"PAR1"));
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
        "an axis with a single selected coordinate is omitted"
    );
    assert_eq!(values(&npy), [6, 0, 10, 0]);
    let global = shell.ok("export a - --format csv --order global --select 0:2,:");
    assert_eq!(
        global,
        "y,x,data\n0,0,0\n0,1,1\n1,0,4\n1,1,5\n0,2,2\n0,3,3\n1,2,6\n1,3,7\n"
    );
}

#[test]
fn batches_join_seamlessly() {
    let shell = Shell::new();
    // More than one batch of the smallest budget, and more than one part of text.
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
fn an_unwritten_dense_array_exports_no_cells() {
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

/// The words that consist of a dot and letters.
fn endings(text: &str) -> Vec<&str> {
    let words = text.split([' ', '\n', ';', ',']).filter_map(|w| w.strip_prefix('.'));
    words
        .filter(|w| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
        .collect()
}

#[test]
fn exactly_the_listed_extensions_are_supported() {
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
    shell.file("cloud.csv", "X,Y,Z,v\n0.5,1.5,2.5,7\n");
    shell.ok("import cloud.csv cloud --sparse --dims X,Y,Z");
    for ending in &written {
        let a = if ["las", "laz"].contains(ending) { "cloud" } else { "a" };
        shell.ok(&format!("export {a} out.{ending}"));
        let (code, error) = shell.fails(&format!("export {a} out.{ending}"));
        let why = format!("cannot write out.{ending}: the ");
        assert!(
            code == 1 && error.contains(&why) && error.contains(" exists already; ") && error.contains("--force"),
            "{error}"
        );
        shell.ok(&format!("export {a} out.{ending} --force"));
    }
    let (read, imported) = (about("write"), about("import"));
    let (read, imported) = (endings(&read), endings(&imported));
    // Files that say themselves what they hold come after those.
    assert!(imported.starts_with(&read) && imported.contains(&"nc"), "{imported:?}");
    assert!(read.contains(&"npz") && read.contains(&"tsv"), "{read:?}");
    for ending in &read {
        // None of them is refused because of its extension.
        let lost = ["npz", "geojson"].contains(ending);
        let name = if lost {
            format!("lost.{ending}")
        } else {
            format!("out.{ending}")
        };
        for line in [format!("import {name} b-{ending}"), format!("write a {name}")] {
            let output = shell.run(&line, b"");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), !lost, "{line}: {error}");
            assert!(*ending != "npz" || error.contains("no such file"), "{line}: {error}");
        }
    }
    for ending in ["bin", "png"] {
        for (line, known) in [
            (format!("import out.{ending} c"), &imported),
            (format!("write a out.{ending}"), &read),
        ] {
            let (code, error) = shell.fails(&line);
            assert_eq!(code, 2, "{line}: {error}");
            assert!(error.contains("can only be written"), "{line}: {error}");
            assert_eq!(
                endings(error.split_once("supported extensions are").unwrap().1),
                *known,
                "{line}"
            );
        }
        let (_, error) = shell.fails(&format!("write a - --format {ending}"));
        assert!(error.contains("one of arrow, parquet, npy, npz, csv, tsv"), "{error}");
    }
    let (_, error) = shell.fails("export a out.npz");
    assert!(error.contains("can only be read"), "{error}");
    assert_eq!(
        endings(error.split_once("supported extensions are").unwrap().1),
        written
    );
    assert!(!error.contains("--format"), "{error}");
    for (line, help) in [
        ("export a out.csv.gz", "compress the output, as in"),
        ("export a out.orc", "export a Parquet file and convert it"),
        ("import in.npy.gz c", "unpack it first"),
        ("import in.orc c", "convert it to Parquet or CSV first"),
        ("write a in.nc", "import them into new arrays"),
        ("write a in.nii", "import them into new arrays with"),
        ("import in.dat c", "formats, give --format"),
    ] {
        let (code, error) = shell.fails(line);
        assert!(code == 2 && error.contains(help), "{line}: {error}");
    }
    let (code, error) = shell.fails("export a - --format npz");
    assert!(
        code == 2 && error.contains("one of npy, bin, csv, tsv, json, jsonl, arrow, png, parquet, zarr, tif"),
        "{error}"
    );
}

#[test]
fn an_empty_selection_and_a_repeated_name_are_refused() {
    let shell = grid();
    for (options, why) in [
        (
            "--select ''",
            "--select: the selection is empty; write all for every cell",
        ),
        ("--select 0:1,", "is empty; write : for the whole dimension"),
        ("--select y=", "is empty; write : for the whole dimension"),
        ("--attrs data,data", "--attrs: 'data' is named twice; name it once"),
    ] {
        let (code, error) = shell.fails(&format!("export a - --format csv {options}"));
        assert!(code == 2 && error.contains(why), "{options}: {error}");
    }
    let whole = shell.ok("export a - --format csv");
    assert_eq!(shell.ok("export a - --format csv --select all"), whole);
    // Coordinates are always listed.
    assert_eq!(shell.ok("export a - --format csv --attrs y,data"), whole);
    shell.file("in.csv", "v,w\n1,2\n");
    let (code, error) = shell.fails("import in.csv b --attrs v,v");
    assert!(code == 2 && error.contains("'v' is named twice"), "{error}");
}

#[test]
fn only_null_is_null_and_unwritten_text_is_empty() {
    let shell = Shell::new();
    shell.file("in.csv", "d,f\n0,inf\n1,-inf\n2,nan\n3,1.5\n4,\n");
    shell.ok("import in.csv a --sparse --dims d");
    assert_eq!(
        shell.ok("export a - --format jsonl"),
        r#"{"d":0,"f":"Infinity"}
{"d":1,"f":"-Infinity"}
{"d":2,"f":"NaN"}
{"d":3,"f":1.5}
{"d":4,"f":null}
"#
    );
    assert_eq!(
        shell.ok("export a - --format csv"),
        "d,f\n0,inf\n1,-inf\n2,nan\n3,1.5\n4,\n"
    );
    shell.ok("meta a set limits inf,-inf,nan,1 --type float64");
    let json: serde_json::Value = serde_json::from_str(&shell.ok("meta a ls --json")).unwrap();
    assert_eq!(
        json["limits"]["value"],
        serde_json::json!(["Infinity", "-Infinity", "NaN", 1.0])
    );

    let schema = r#"{"type": "dense", "dimensions": [{"name": "i", "type": "uint8", "domain": [0, 3], "tile": 4}],
        "attributes": [{"name": "s", "type": "string_utf8", "cell": "var"}]}"#;
    shell.pipe("create t --schema -", schema.as_bytes());
    shell.pipe("write t - --format csv --select 0:2", b"s\nx\n\"\"\n");
    assert_eq!(
        shell.ok("export t - --format csv --select 0:4"),
        "i,s\n0,x\n1,\"\"\n2,\n3,\n"
    );
}

#[test]
fn keys_and_text_that_are_not_utf8_stay_distinct() {
    let shell = Shell::new();
    shell.file("in.csv", b"k,v\n\xfe,1\n\xff,2\n");
    shell.ok("import in.csv a --sparse --dims k --types k=string_ascii");
    assert_eq!(
        shell.ok("export a - --format jsonl"),
        "{\"k\":\"\\\\xfe\",\"v\":1}\n{\"k\":\"\\\\xff\",\"v\":2}\n"
    );
    let csv = shell.run("export a - --format csv", b"");
    assert_eq!(csv.stdout, b"k,v\n\xfe,1\n\xff,2\n");
    for (key, value) in [
        (r"k\xfe", "one"),
        (r"k\xff", "two"),
        (r"k\x5cxff", "three"),
        (r"k\n", "four"),
    ] {
        shell.ok(&format!("meta a set '{key}' {value}"));
    }
    let json: serde_json::Value = serde_json::from_str(&shell.ok("meta a ls --json")).unwrap();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert_eq!(shell.ok(r"meta a get 'k\xff'"), "two\n");
    assert_eq!(shell.ok(r"meta a get 'k\x5cxff'"), "three\n");
    shell.ok(r"meta a rm 'k\xff'");
    shell.ok("consolidate a --mode array-meta");
    assert_eq!(shell.ok(r"meta a get 'k\xfe'"), "one\n");
    let (_, error) = shell.fails(r"meta a get 'k\xff'");
    assert!(error.contains("there is no metadata key"), "{error}");
}
