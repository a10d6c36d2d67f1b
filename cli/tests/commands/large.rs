//! Writes of files that exceed the memory budget.

use crate::{Shell, npy};

/// The fragments of an array.
fn fragments(shell: &Shell, array: &str) -> usize {
    std::fs::read_dir(shell.path(array).join("__fragments"))
        .unwrap()
        .count()
}

/// Creates a dense array of this many rows and columns.
fn dense(shell: &Shell, array: &str, rows: u64, columns: u64, attribute: &str, options: &str) {
    let dimension = |name: &str, first: i64, length: u64, tile: u64| {
        format!(
            "{{\"name\": \"{name}\", \"type\": \"int64\", \"domain\": [{first}, {}], \"tile\": {tile}}}",
            first + length as i64 - 1
        )
    };
    let schema = format!(
        "{{\"type\": \"dense\", \"dimensions\": [{}, {}], \"attributes\": [{attribute}]}}",
        dimension("y", -7, rows, 100),
        dimension("x", 0, columns, 300)
    );
    shell.file("schema.json", schema);
    shell.ok(&format!("create {array} --schema schema.json {options}"));
}

const INT64: &str = "{\"name\": \"v\", \"type\": \"int64\"}";

fn int64s(n: i64) -> Vec<u8> {
    (0..n).flat_map(|i| (i * 7919 % 100_003).to_le_bytes()).collect()
}

/// Writes `line` into copies of an array within a small and a large budget, and compares the exports.
fn compare(shell: &Shell, array: &str, input: &str, options: &str) {
    for (copy, memory) in [("small", "64MiB"), ("large", "8GiB")] {
        shell.ok(&format!("copy {array} {copy}"));
        shell.ok(&format!(
            "write {copy} {input} --memory {memory} --timestamp 9 {options}"
        ));
        assert_eq!(fragments(shell, copy), fragments(shell, array) + 1, "{input} {memory}");
        shell.ok(&format!("export {copy} {copy}.arrow --order global --force"));
    }
    assert!(
        shell.bytes("small.arrow") == shell.bytes("large.arrow"),
        "{input} {options}"
    );
    shell.ok("verify small");
    assert!(
        !shell.names().iter().any(|name| name.starts_with('.')),
        "{:?}",
        shell.names()
    );
    for copy in ["small", "large"] {
        std::fs::remove_dir_all(shell.path(copy)).unwrap();
    }
}

#[test]
fn a_write_in_batches_gives_the_same_cells_as_one_at_once() {
    let shell = Shell::new();
    dense(&shell, "grid", 1500, 1400, INT64, "");
    shell.file("grid.npy", npy("'<i8'", "(1500, 1400)", &int64s(1500 * 1400)));
    compare(&shell, "grid", "grid.npy", "");
    // A box that covers tiles in part, over cells that must stay.
    shell.ok("write grid grid.npy --timestamp 5");
    shell.file("box.npy", npy("'<i8'", "(1050, 1)", &int64s(1050)));
    shell.file("part.npy", npy("'<i8'", "(1050, 1333)", &int64s(1050 * 1333)));
    compare(&shell, "grid", "part.npy", "--select 13:1063,50:1383");
    let mut fortran = npy("'<i8'", "(1050, 1333)", &int64s(1050 * 1333));
    let at = fortran.windows(5).position(|w| w == b"False").unwrap();
    fortran.splice(at..at + 5, *b"True ");
    shell.file("fortran.npy", fortran);
    compare(&shell, "grid", "fortran.npy", "--select 13:1063,50:1383");
    let rows: String = (0..900_000).map(|i| format!("{}\n", i % 1013)).collect();
    shell.file("rows.csv", format!("v\n{rows}"));
    compare(&shell, "grid", "rows.csv", "--select 13:913,50:1050");

    dense(
        &shell,
        "pairs",
        1000,
        500,
        "{\"name\": \"v\", \"type\": \"int64\", \"cell\": 2}",
        "",
    );
    shell.file("pairs.npy", npy("'<i8'", "(1000, 500, 2)", &int64s(1000 * 500 * 2)));
    compare(&shell, "pairs", "pairs.npy", "");
}

#[test]
fn a_sparse_write_in_batches_is_sorted_and_encrypted() {
    let shell = Shell::new();
    let line = |i: u64, text: &str| format!("{},{},{text}{}\n", i * 7919 % 1_000_003, i % 97, i % 1000);
    let text = |rows: u64, text: &str| "x,y,word\n".to_owned() + &(0..rows).map(|i| line(i, text)).collect::<String>();
    shell.file("few.csv", text(100, "seed"));
    shell.file("many.csv", text(300_000, "word "));
    shell.secret("key", [7; 32]);
    shell.ok(
        "--key-file key import few.csv points --sparse --dims x,y --timestamp 3 --domain x=0:2000000 --domain y=0:100",
    );
    for (array, memory) in [("small", "64MiB"), ("large", "8GiB")] {
        shell.ok(&format!("copy points {array}"));
        shell.ok(&format!(
            "--key-file key write {array} many.csv --memory {memory} --timestamp 9"
        ));
        assert_eq!(fragments(&shell, array), 2);
        shell.ok(&format!("--key-file key export {array} {array}.csv"));
    }
    assert_eq!(shell.bytes("small.csv").len(), shell.bytes("large.csv").len());
    let sorted = |name: &str| {
        let text = String::from_utf8(shell.bytes(name)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(sorted("small.csv") == sorted("large.csv"));
    assert_eq!(sorted("small.csv").len(), 300_101);
}

#[test]
fn a_failed_write_in_batches_leaves_nothing_and_names_the_line_of_the_file() {
    let shell = Shell::new();
    shell.file("few.csv", "x,v\n5,1\n");
    shell.ok("import few.csv points --sparse --dims x --unique --timestamp 3 --domain x=0:2000000");
    let rows = |last: &str| "x,v\n".to_owned() + &(0..400_000).map(|i| format!("{i},{i}\n")).collect::<String>() + last;
    shell.file("outside.csv", rows("3000000,1\n"));
    let (code, error) = shell.fails("write points outside.csv --memory 64MiB");
    assert!(code == 1 && error.contains("line 400002: "), "{error}");
    shell.file("twice.csv", rows("7,1\n"));
    let (_, error) = shell.fails("write points twice.csv --memory 64MiB");
    assert!(
        error.contains("1 of the 400001 rows have the same coordinates as another row"),
        "{error}"
    );
    assert_eq!(fragments(&shell, "points"), 1);
    assert_eq!(shell.names(), ["few.csv", "outside.csv", "points", "twice.csv"]);

    // Numpy arrays have no lines, so the message counts cells of the file.
    let mut x: Vec<u8> = (0..1_000_000_i64).flat_map(i64::to_le_bytes).collect();
    x.extend(3_000_000_i64.to_le_bytes());
    let record: Vec<u8> = x.chunks(8).flat_map(|x| [x, x].concat()).collect();
    shell.file("r.npy", npy("[('x', '<i8'), ('v', '<i8')]", "(1000001,)", &record));
    let (_, error) = shell.fails("write points r.npy --memory 64MiB");
    assert!(error.contains("cell 1000000"), "{error}");
    let nat = record.len() - 16;
    let mut record = record;
    record.splice(nat..nat + 8, i64::MIN.to_le_bytes());
    shell.file("t.npy", npy("[('x', '<M8[s]'), ('v', '<i8')]", "(1000001,)", &record));
    let (_, error) = shell.fails("import t.npy new --sparse --dims x --memory 64MiB");
    assert!(
        error.contains("the coordinate of cell 1000000 in 'x' is no time"),
        "{error}"
    );
}

#[test]
fn coordinates_of_a_dense_array_that_exceed_the_budget_are_refused() {
    let shell = Shell::new();
    dense(&shell, "grid", 1000, 1000, INT64, "");
    let rows = |i: i64| format!("{},{},{i}\n", i / 1000 - 7, i % 1000);
    shell.file(
        "all.csv",
        "y,x,v\n".to_owned() + &(0..1_000_000).map(rows).collect::<String>(),
    );
    for points in ["", "--points"] {
        let (_, error) = shell.fails(&format!("write grid all.csv --memory 64MiB {points}"));
        assert!(
            error.contains("a write of coordinates to a dense array needs all cells")
                && error.contains("raise --memory"),
            "{error}"
        );
    }
    shell.ok("write grid all.csv --memory 1GiB");
}
