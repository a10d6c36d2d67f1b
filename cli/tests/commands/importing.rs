use serde_json::Value;

use crate::{Shell, int16s, npy, values};

fn schema(shell: &Shell, array: &str) -> Value {
    serde_json::from_str(&shell.ok(&format!("schema {array}"))).unwrap()
}

#[test]
fn an_npy_becomes_a_dense_array_and_comes_back() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(4, 6)", &int16s(24)));
    shell.ok("import in.npy a --tile 3,4 --filters byteshuffle,zstd:5 --attrs height --dims y,x");
    let s = schema(&shell, "a");
    assert_eq!(s["type"], "dense");
    assert_eq!(
        (&s["dimensions"][0]["name"], &s["dimensions"][1]["tile"]),
        (&"y".into(), &4.into())
    );
    assert_eq!(s["attributes"][0]["name"], "height");
    shell.ok("export a out.npy");
    assert_eq!(values(&shell.bytes("out.npy")), int16s(24));
    assert_eq!(shell.names(), ["a", "in.npy", "out.npy"]);
}

#[test]
fn column_major_input_keeps_its_cells_in_place() {
    let shell = Shell::new();
    let mut file = npy("'|u1'", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
    let at = file.windows(5).position(|w| w == b"False").unwrap();
    file.splice(at..at + 5, *b"True ");
    shell.file("in.npy", file);
    shell.ok("import in.npy a");
    assert_eq!(
        shell.ok("export a - --format csv"),
        "d0,d1,data\n0,0,1\n0,1,3\n0,2,5\n1,0,2\n1,1,4\n1,2,6\n"
    );
    assert_eq!(
        values(&shell.pipe("export a - --format npy --order col", b"")),
        [1, 2, 3, 4, 5, 6]
    );
}

#[test]
fn a_table_becomes_a_dense_array_of_rows() {
    let shell = Shell::new();
    shell.file(
        "in.csv",
        "n,when,word,yes\n1,2020-01-02,a,true\n,2020-01-03,\"\",false\n3,2020-01-04T05:06:07.5,\"b,c\",true\n",
    );
    shell.ok("import in.csv a");
    let s = schema(&shell, "a");
    let attribute = |i: usize| {
        (
            s["attributes"][i]["type"].as_str().unwrap().to_owned(),
            s["attributes"][i]["nullable"] == true,
        )
    };
    assert_eq!(attribute(0), ("int64".into(), true));
    assert_eq!(attribute(1), ("datetime_ms".into(), false));
    assert_eq!(attribute(2), ("string_utf8".into(), false));
    assert_eq!(attribute(3), ("bool".into(), false));
    let csv = "row,n,when,word,yes\n0,1,2020-01-02T00:00:00.000,a,true\n1,,2020-01-03T00:00:00.000,\"\",false\n2,3,2020-01-04T05:06:07.500,\"b,c\",true\n";
    assert_eq!(shell.ok("export a - --format csv"), csv);
}

#[test]
fn a_table_becomes_a_sparse_array_by_its_dimensions() {
    let shell = Shell::new();
    shell.file("in.csv", "lon,lat,mag\n10.5,50,4.5\n-3.25,40,2\n10.5,50,1\n");
    shell.ok("import in.csv a --sparse --dims lon,lat --domain lon=-180:180");
    let s = schema(&shell, "a");
    assert_eq!((&s["type"], &s["allows_duplicates"]), (&"sparse".into(), &true.into()));
    assert_eq!(s["dimensions"][0]["domain"], serde_json::json!([-180.0, 180.0]));
    assert_eq!(
        shell.ok("export a - --format csv --order row"),
        "lon,lat,mag\n-3.25,40,2.0\n10.5,50,4.5\n10.5,50,1.0\n"
    );
    assert_eq!(
        shell.ok("export a - --format csv --select lon=0:20 --where 'mag > 2'"),
        "lon,lat,mag\n10.5,50,4.5\n"
    );
    let (code, error) = shell.fails("import in.csv b --sparse --dims lon,lat --unique");
    assert_eq!(code, 1, "{error}");
    assert_eq!(shell.names(), ["a", "in.csv"], "nothing is left of the failed import");
}

#[test]
fn dimensions_of_a_table_make_a_grid() {
    let shell = Shell::new();
    shell.file("in.csv", "y,x,v\n5,1,a\n4,1,b\n4,2,c\n5,2,d\n");
    shell.ok("import in.csv a --dims y,x");
    assert_eq!(
        shell.ok("export a - --format csv"),
        "y,x,v\n4,1,b\n4,2,c\n5,1,a\n5,2,d\n"
    );
    shell.file("hole.csv", "y,x,v\n5,1,a\n4,2,c\n");
    let (_, error) = shell.fails("import hole.csv b --dims y,x");
    assert!(error.contains("fill a box"), "{error}");
}

#[test]
fn extents_of_dates_are_lengths_of_time() {
    let shell = Shell::new();
    shell.file("in.csv", "x,day,v\n1,2020-01-01,1\n2,2020-12-31,3\n");
    let import = "import in.csv --sparse --dims x,day --domain x=0:99";
    for (i, tile) in ["x=5,day=1d", "5,1d", "5,86400000", "day=24h,x=5"].iter().enumerate() {
        shell.ok(&format!("{import} a{i} --tile {tile}"));
        let s = schema(&shell, &format!("a{i}"));
        let tiles = [&s["dimensions"][0]["tile"], &s["dimensions"][1]["tile"]];
        assert_eq!(tiles, [&serde_json::json!(5), &serde_json::json!(86_400_000)], "{tile}");
    }
    shell.ok(&format!("{import} b --tile day=1w"));
    assert_eq!(schema(&shell, "b")["dimensions"][1]["tile"], 7 * 86_400_000);
    for (tile, why) in [
        (
            "5,2020-01-02",
            "dimension 'day': '2020-01-02' is no length of time; write a number",
        ),
        ("x=5,day=1fortnight", "as in 7d"),
        ("x=5,date=1d", "the dimensions are x, day"),
        ("5", "1 extents for 2 axes"),
        ("5.5,1d", "dimension 'x': '5.5': it is no int64"),
    ] {
        let (code, error) = shell.fails(&format!("{import} c --tile {tile}"));
        assert!(
            code == 2 && error.contains("--tile: ") && error.contains(why),
            "{tile}: {error}"
        );
    }
    let (code, error) = shell.fails(&format!("{import} c --domain day=2021"));
    assert!(code == 2 && error.contains("DIM=LO:HI"), "{error}");
    // The domain of dates says as well why it is none.
    let (_, error) = shell.fails(&format!("{import} c --domain day=yesterday:2021"));
    assert!(error.contains("write 2020, 2020-01"), "{error}");
    let text = serde_json::json!({"type": "sparse", "attributes": [{"name": "v", "type": "int32"}], "dimensions": [
        {"name": "day", "type": "datetime_day", "domain": ["2020-01-01", "2020-12-31"], "tile": "1w"}]});
    shell.file("schema.json", text.to_string());
    let (_, error) = shell.fails("create c --schema schema.json");
    assert!(error.contains("a whole number of datetime_day coordinates"), "{error}");
}

#[test]
fn tiles_and_domains_are_what_was_asked_for_or_refused() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'|u1'", "(400, 600)", &[7; 240_000]));
    for (options, why) in [
        ("--tile 0,0", "--tile: dimension 'd0': an extent is 1 or more, not 0"),
        ("--domain z", "'z' is not written as DIM=LO:HI"),
    ] {
        let (code, error) = shell.fails(&format!("import in.npy a {options}"));
        assert!(code == 2 && error.contains(why), "{error}");
    }
    let tiles = |array: &str| [0, 1].map(|i| schema(&shell, array)["dimensions"][i]["tile"].clone());
    shell.ok("import in.npy a");
    assert_eq!(tiles("a"), [256, 256]);
    // The columns of an export say which of them are coordinates.
    shell.ok("export a a.arrow");
    shell.ok("import a.arrow b");
    assert_eq!(tiles("b"), tiles("a"));

    // Round ends of a domain may be beyond all numbers.
    shell.file("far.csv", "x,v\n1.7e308,1\n-3,2\n");
    shell.ok("import far.csv far --dims x --sparse");
    assert_eq!(shell.ok("export far - --format csv").lines().count(), 3);
}
