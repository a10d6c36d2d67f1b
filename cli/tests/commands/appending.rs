//! `append`: the next files along an axis.

use std::path::Path;

use crate::Shell;

/// A shell with a NetCDF file of three times, whose axis `time` is unlimited.
fn climate() -> Shell {
    let shell = Shell::new();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/files");
    shell.file("day.nc", std::fs::read(files.join("climate3.nc")).unwrap());
    assert!(shell.run("import day.nc year", b"").status.success());
    shell
}

/// The rows of an export, without their coordinates along the first axis.
fn values(shell: &Shell, array: &str) -> Vec<String> {
    let text = shell.ok(&format!("export {array} - --format csv"));
    let rows = text.lines().skip(1);
    rows.map(|row| row.split_once(',').unwrap().1.to_owned()).collect()
}

fn times(rows: &[String], n: usize) -> Vec<String> {
    std::iter::repeat_n(rows, n).flatten().cloned().collect()
}

#[test]
fn the_next_file_continues_the_unlimited_axis() {
    let shell = climate();
    let (time, grid) = (values(&shell, "year/time"), values(&shell, "year/t2m"));
    assert_eq!((time.len(), grid.len()), (3, 60));
    let lat = values(&shell, "year/lat");
    assert_eq!(shell.ok("append day.nc year").lines().count(), 2);
    assert_eq!(values(&shell, "year/time"), times(&time, 2));
    assert_eq!(values(&shell, "year/t2m"), times(&grid, 2));
    assert_eq!(values(&shell, "year/lat"), lat);
    shell.ok("append day.nc day.nc year --along time --memory 64MiB");
    assert_eq!(values(&shell, "year/t2m"), times(&grid, 4));
    // Earlier states stay readable.
    let first = shell.ok("info year/time --json");
    assert!(first.contains("\"fragments\""), "{first}");
}

#[test]
fn files_that_do_not_continue_the_arrays_are_refused() {
    let shell = climate();
    let before = shell.ok("export year/t2m - --format csv");
    let refused = |line: &str, words: &[&str]| {
        let (_, error) = shell.fails(line);
        assert!(words.iter().all(|w| error.contains(w)), "{error}");
    };
    refused(
        "append day.nc year --along day",
        &["no array has the axis 'day'", "time"],
    );
    refused(
        "append day.nc year --along lat",
        &["'lat' is not the first axis of 't2m'"],
    );
    refused("append day.nc", &["it is missing"]);
    shell.file("t.csv", "a\n1\n");
    refused("append t.csv year", &["hyperslab write"]);
    // Another latitude.
    let mut bytes = shell.bytes("day.nc");
    let south = (-45.0_f32).to_be_bytes();
    let at = bytes.windows(4).position(|w| w == south).unwrap();
    bytes[at..at + 4].copy_from_slice(&(-46.0_f32).to_be_bytes());
    shell.file("moved.nc", bytes);
    refused("append moved.nc year", &["'lat' holds other values in the file"]);
    assert_eq!(shell.ok("export year/t2m - --format csv"), before);
}

#[test]
fn files_without_room_for_them_are_refused() {
    let shell = climate();
    let plan = shell.ok("import day.nc small --dry-run --json");
    let mut plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    for array in plan["arrays"].as_array_mut().unwrap() {
        let first = &mut array["schema"]["dimensions"][0];
        if first["name"] == "time" {
            first["domain"] = serde_json::json!([0, 7]);
        }
    }
    shell.file("small.json", plan.to_string());
    assert!(
        shell
            .run("import day.nc small --schema small.json", b"")
            .status
            .success()
    );
    shell.ok("append day.nc small");
    let before = shell.ok("export small/t2m - --format csv");
    let (_, error) = shell.fails("append day.nc small");
    assert!(
        error.contains("has room for 2 more cells along its first axis, and the file has 3"),
        "{error}"
    );
    assert_eq!(shell.ok("export small/t2m - --format csv"), before);
}
