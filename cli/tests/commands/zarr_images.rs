//! Stores with `multiscales`: which are images of OME-NGFF, and what an image leaves out.

use serde_json::{Value, json};

use crate::Shell;

/// Writes an array of bytes with one chunk, as Zarr of version 2.
fn array(shell: &Shell, path: &str, shape: &[usize], dtype: &str, cells: &[u8]) {
    std::fs::create_dir_all(shell.path(path)).unwrap();
    let array = json!({
        "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "compressor": null, "fill_value": null,
        "order": "C", "filters": null,
    });
    shell.file(&format!("{path}/.zarray"), array.to_string());
    let zeros = vec!["0"; shape.len()].join(".");
    shell.file(&format!("{path}/{zeros}"), cells);
}

fn group(shell: &Shell, path: &str, attributes: &Value) {
    std::fs::create_dir_all(shell.path(path)).unwrap();
    shell.file(&format!("{path}/.zgroup"), r#"{"zarr_format": 2}"#);
    shell.file(&format!("{path}/.zattrs"), attributes.to_string());
}

/// As ndpyramid has it: levels without `axes`.
fn levels(paths: &[&str]) -> Value {
    let all: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
    json!({ "multiscales": [{ "datasets": all, "type": "reduce", "metadata": { "version": "0.1" } }] })
}

#[test]
fn levels_that_are_groups_are_no_image() {
    let shell = Shell::new();
    group(&shell, "in.zarr", &levels(&["0", "1"]));
    for (level, cells) in [("0", &[1_u8, 2, 3, 4][..]), ("1", &[5][..])] {
        let side = cells.len().isqrt();
        group(&shell, &format!("in.zarr/{level}"), &json!({}));
        array(&shell, &format!("in.zarr/{level}/temp"), &[side, side], "|u1", cells);
    }
    shell.ok("import in.zarr out");
    let rows = shell.ok("export out/0/temp - --format csv --coordinates index");
    assert_eq!(rows, "dim_0,dim_1,temp\n0,0,1\n0,1,2\n1,0,3\n1,1,4\n");
    assert!(shell.ok("export out/1/temp - --format csv").ends_with(",5\n"));
}

#[test]
fn levels_with_other_axes_or_cells_are_no_image() {
    let shell = Shell::new();
    group(&shell, "flat.zarr", &levels(&["a"]));
    array(&shell, "flat.zarr/a", &[1, 2], "|u1", &[7, 8]);
    shell.ok("import flat.zarr flat");
    assert!(
        shell
            .ok("export flat/a - --format csv --coordinates index")
            .ends_with("0,1,8\n")
    );
    for (name, dtype) in [("text", "|S8"), ("complex", "<c8")] {
        group(&shell, &format!("{name}.zarr"), &levels(&["a"]));
        array(&shell, &format!("{name}.zarr/a"), &[1, 1, 1, 1, 1], dtype, &[0x41; 8]);
        shell.ok(&format!("import {name}.zarr {name}"));
        assert!(
            shell
                .ok(&format!("export {name}/a - --format csv"))
                .contains("\n0,0,0,0,0,")
        );
    }
}

#[test]
fn arrays_that_are_no_levels_are_named() {
    let shell = Shell::new();
    group(&shell, "in.zarr", &levels(&["0", "missing", "odd"]));
    array(&shell, "in.zarr/0", &[1, 1, 1, 1, 2], "|u1", &[1, 2]);
    // The notes about levels name them once.
    array(&shell, "in.zarr/odd", &[2], "|u1", &[1, 2]);
    array(&shell, "in.zarr/t", &[2, 2], "|u1", &[1, 2, 3, 4]);
    // Positions follow from the sizes, unless they have other values.
    array(
        &shell,
        "in.zarr/x",
        &[2],
        "<f4",
        &[0_f32, 1.0].map(f32::to_le_bytes).concat(),
    );
    array(&shell, "in.zarr/c", &[1], "<f4", &5_f32.to_le_bytes());
    array(&shell, "in.zarr/other", &[2], "|u1", &[1, 2]);
    let imported = |out: &str| {
        let run = shell.run(&format!("import in.zarr {out}"), b"");
        let notes = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.success(), "{notes}");
        notes
    };
    let notes = imported("image");
    assert!(
        notes.contains("are left out: 'c', 'other', 't'; import them"),
        "{notes}"
    );
    assert!(
        notes.contains("the level 'missing' is left out") && notes.contains("the level 'odd' is left out"),
        "{notes}"
    );
    for n in 10..30 {
        array(&shell, &format!("in.zarr/more{n}"), &[2], "|u1", &[1, 2]);
    }
    let notes = imported("again");
    assert!(
        notes.contains("'c', 'more10', 'more11'") && notes.contains("'more24' and 7 more;"),
        "{notes}"
    );
}
