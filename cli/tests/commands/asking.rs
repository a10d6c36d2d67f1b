//! Exports that ask: rows, limits, counts, aggregates, coordinates by value.

use crate::failing::check;
use crate::{Shell, int16s, npy};

/// Two axes; `y` has values, from 20 down to 10.
fn grid() -> Shell {
    let shell = Shell::new();
    let heights: Vec<u8> = [20_f32, 15.5, 10.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    shell.file("y.npy", npy("'<f4'", "(3,)", &heights));
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import y.npy g/y --dims y --attrs y.data");
    shell.ok("import in.npy g/a --dims y,x --attrs v --tile 2,2");
    shell
}

fn points() -> Shell {
    let shell = Shell::new();
    shell.file(
        "in.csv",
        "x,mag,place,n\n1,4.5,Juneau Alaska,\n2,1.5,Oslo,7\n3,nan,Nome_Alaska,9\n4,6.0,100%,8\n",
    );
    shell.ok("import in.csv p --sparse --dims x");
    shell
}

#[test]
fn rows_are_the_matching_cells_with_the_values_along_the_axes() {
    let shell = grid();
    let rows = shell.ok("export g/a - --format csv --rows --where 'v between 3 and 4'");
    assert_eq!(rows, "y,x,v\n20.0,3,3\n15.5,0,4\n");
    let rows = shell.ok("export g/a - --format csv --rows --where 'v > 9' --coordinates index");
    assert_eq!(rows, "y,x,v\n2,2,10\n2,3,11\n");
    let rows = shell.ok("export g/a - --format jsonl --rows --where 'v in (0, 5)' --limit 1");
    assert_eq!(rows, "{\"y\":20.0,\"x\":0,\"v\":0}\n");
    let column = shell.ok("export g/a - --format csv --rows --where 'v > 9' --order col --coordinates index");
    assert_eq!(column, "y,x,v\n2,2,10\n2,3,11\n");
    let records = shell.pipe("export g/a - --format bin --rows --where 'v > 9'", b"");
    assert_eq!(records.len(), 2 * (8 + 8 + 2));
    assert_eq!(shell.ok("export g/a - --format csv --rows --where 'v > 99'"), "y,x,v\n");
}

#[test]
fn limits_end_tables_only() {
    let shell = grid();
    assert_eq!(
        shell.ok("export g/a - --format csv --limit 2"),
        "y,x,v\n20.0,0,0\n20.0,1,1\n"
    );
    assert_eq!(shell.ok("export g/a - --format csv --limit 0"), "y,x,v\n");
    shell.ok("export g/a few.parquet --limit 5");
    shell.ok("import few.parquet few");
    assert_eq!(shell.ok("export few --count"), "5\n");
    check(
        &shell,
        "export g/a out.npy --limit 2",
        2,
        &["--limit", "a .npy file has no rows"],
    );
    check(
        &shell,
        "export g/a out.png --rows",
        2,
        &["--rows", "a .png file has no rows"],
    );
    let points = points();
    assert_eq!(points.ok("export p - --format csv --attrs n --limit 1"), "x,n\n1,\n");
    assert_eq!(
        points.pipe("export p - --format bin --attrs mag --limit 3", b"").len(),
        24
    );
}

#[test]
fn images_have_colors() {
    let shell = grid();
    shell.ok("export g/a gray.png");
    shell.ok("export g/a map.png --cmap viridis --range 0:5");
    let color_type = |name: &str| shell.bytes(name)[25];
    assert_eq!((color_type("gray.png"), color_type("map.png")), (0, 6));
    check(
        &shell,
        "export g/a out.png --cmap virdis",
        2,
        &["--cmap", "did you mean 'viridis'"],
    );
    check(
        &shell,
        "export g/a out.png --range 5:0",
        2,
        &["--range", "the lowest and the highest value"],
    );
    check(&shell, "export g/a out.csv --range 0:5", 2, &["--range", "only a .png"]);
}

#[test]
fn counts_and_aggregates_are_printed() {
    let shell = points();
    assert_eq!(shell.ok("export p --count"), "4\n");
    assert_eq!(shell.ok("export p --count --where 'place like \"%Alaska\"'"), "2\n");
    assert_eq!(
        shell.ok("export p --count --where 'place not like \"%\\_%\" and n is not null'"),
        "2\n"
    );
    assert_eq!(
        shell.ok("export p --count --where 'place like \"%\\%\"' --json"),
        "{\"count\":1}\n"
    );
    let table = shell.ok("export p --agg min,max,sum,mean,count,nulls");
    let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["attribute", "min", "max", "sum", "mean", "count", "nulls"]);
    assert_eq!(rows[1][..3], ["mag", "1.5", "6.0"]);
    assert_eq!(rows[2][0], "place");
    assert_eq!(
        rows[2].iter().rev().take(4).collect::<Vec<_>>(),
        [&"0", &"4", &"-", &"-"]
    );
    assert_eq!(rows[3], ["n", "7", "9", "24", "8.0", "4", "1"]);
    let json = shell.ok("export p --agg max,count --attrs mag --where 'mag < 5' --json");
    assert_eq!(json, "{\"mag\":{\"max\":4.5,\"count\":2}}\n");
    check(
        &shell,
        "export p --agg sum --attrs place",
        2,
        &["--agg", "'place' has no sum"],
    );
    check(
        &shell,
        "export p --agg sum --attrs x",
        2,
        &["--attrs", "'x' is a dimension"],
    );
    check(&shell, "export p --count --order row", 2, &["--count", "--order"]);
    check(&shell, "export p out.csv --count", 2, &["leave OUT out"]);
    check(&shell, "export p", 2, &["<OUT>"]);
    let grid = grid();
    assert_eq!(grid.ok("export g/a --count"), "12\n");
    assert_eq!(grid.ok("export g/a --count --select 'y={20,10},x=@{0,3}'"), "4\n");
    assert_eq!(
        grid.ok("export g/a --agg mean --select y=20"),
        "attribute  mean\nv          1.5\n"
    );
}

#[test]
fn aggregates_are_of_unpacked_values_without_missing_ones() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a --attrs v");
    for (key, value) in [("scale_factor", "-0.5"), ("add_offset", "10")] {
        shell.ok(&format!("meta set a __tiledb_attr.v.{key} {value} --type float64"));
    }
    shell.ok("meta set a __tiledb_attr.v.missing_value 3 --type int16");
    shell.ok("meta set a __tiledb_attr.v.valid_max 9 --type int16");
    let all = "--agg min,max,sum,mean,count,nulls --json";
    // 0 to 9 without 3, of which the half is subtracted from 10.
    assert_eq!(
        shell.ok(&format!("export a {all}")),
        "{\"v\":{\"min\":5.5,\"max\":10.0,\"sum\":69.0,\"mean\":7.666666666666666,\"count\":12,\"nulls\":3}}\n"
    );
    assert_eq!(
        shell.ok(&format!("export a {all} --where 'v > 7.5'")),
        "{\"v\":{\"min\":8.0,\"max\":10.0,\"sum\":36.5,\"mean\":9.125,\"count\":4,\"nulls\":0}}\n"
    );
    assert_eq!(
        shell.ok(&format!("export a {all} --stored")),
        "{\"v\":{\"min\":0,\"max\":11,\"sum\":66,\"mean\":5.5,\"count\":12,\"nulls\":0}}\n"
    );
    check(&shell, "export a --count --stored", 2, &["--agg", "--where"]);
    let none = shell.ok("export a --agg min,sum,nulls --where 'v = 8.5' --json");
    assert_eq!(none, "{\"v\":{\"min\":null,\"sum\":null,\"nulls\":0}}\n");
}

#[test]
fn sums_beyond_64_bits_are_errors() {
    let shell = Shell::new();
    let bytes: Vec<u8> = [i64::MAX, i64::MAX].iter().flat_map(|v| v.to_le_bytes()).collect();
    shell.file("in.npy", npy("'<i8'", "(2,)", &bytes));
    shell.ok("import in.npy a --attrs v");
    check(
        &shell,
        "export a --agg sum",
        1,
        &["the sum of 'v' is beyond 64 bits", "use mean and count"],
    );
    assert!(shell.ok("export a --agg mean").contains("9.22337203685477"));
}

#[test]
fn tables_with_values_along_the_axes_import_as_the_same_points() {
    let shell = grid();
    shell.ok("export g/a out.parquet");
    shell.ok("import out.parquet rows");
    assert_eq!(shell.schema("rows")["attributes"][0]["type"], "float32");
    shell.ok("import out.parquet again --sparse --dims y,x");
    let schema = shell.schema("again");
    assert_eq!(schema["type"], "sparse");
    assert_eq!(schema["dimensions"][0]["type"], "float32");
    let sorted = |array: &str| {
        shell.ok(&format!(
            "export {array} - --format csv --order row --where 'v > 1' --rows"
        ))
    };
    let mut expected: Vec<String> = sorted("g/a").lines().map(str::to_owned).collect();
    let mut found: Vec<String> = sorted("again").lines().map(str::to_owned).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    shell.ok("export g/a out.csv");
    shell.ok("import out.csv table --sparse --dims y,x");
    assert_eq!(
        shell.ok("export table - --format csv --order row --select y=15.5"),
        "y,x,v\n15.5,0,4\n15.5,1,5\n15.5,2,6\n15.5,3,7\n"
    );
    shell.ok("export g/a index.parquet --coordinates index");
    shell.ok("import index.parquet dense");
    assert_eq!(shell.schema("dense")["type"], "dense");
}

#[test]
fn deletes_take_patterns_that_start_a_text() {
    let shell = points();
    check(
        &shell,
        "delete p --where 'place like \"%Alaska\"'",
        1,
        &["cannot delete with this pattern of 'place'", "'Alaska%'"],
    );
    shell.ok("delete p --where 'place like \"Nome%\"'");
    assert_eq!(shell.ok("export p --count"), "3\n");
}

#[test]
fn missing_values_of_any_type_are_left_out() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    let wide: Vec<u8> = [1_i64, 5, 9_007_199_254_740_993]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    shell.file("wide.npy", npy("'<i8'", "(3,)", &wide));
    shell.file("dates.npy", npy("'<M8[s]'", "(3,)", &wide[..24]));
    let greatest = |file: &str, typed: &str| {
        let _ = std::fs::remove_dir_all(shell.path("a"));
        shell.ok(&format!("import {file} a --attrs v"));
        shell.ok(&format!("meta set a __tiledb_attr.v.missing_value {typed}"));
        shell.ok("export a --agg max,nulls --json")
    };
    for typed in ["11 --type int16", "11.0 --type float64", "11 --type string_utf8"] {
        assert_eq!(
            greatest("in.npy", typed),
            "{\"v\":{\"max\":10,\"nulls\":1}}\n",
            "{typed}"
        );
    }
    assert_eq!(
        greatest("in.npy", "0.5 --type float64"),
        "{\"v\":{\"max\":11,\"nulls\":0}}\n"
    );
    let beyond = greatest("wide.npy", "9007199254740993 --type int64");
    assert_eq!(beyond, "{\"v\":{\"max\":5,\"nulls\":1}}\n");
    let date = greatest("dates.npy", "9007199254740993 --type int64");
    assert_eq!(date, "{\"v\":{\"max\":\"1970-01-01T00:00:05\",\"nulls\":1}}\n");
}
