//! Options in names: conversions, conditions, orders, limits and colors.

use super::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn text(view: &View, path: &str) -> String {
    String::from_utf8(file(view, path)).unwrap()
}

/// Every file has the size that its node states, and each range of it is a part of it.
fn checked(view: &View, path: &str) -> Vec<u8> {
    let node = block_on(view.lookup(path)).unwrap().unwrap();
    let whole = file(view, path);
    assert_eq!(
        node.kind,
        NodeKind::File {
            size: whole.len() as u64
        },
        "{path}"
    );
    for start in (0..whole.len()).step_by(97) {
        let end = whole.len().min(start + 50);
        let part = block_on(view.read(&node, start as u64..end as u64)).unwrap();
        assert_eq!(part, whole[start..end], "{path} {start}..{end}");
    }
    whole
}

fn values(bytes: &[u8]) -> Vec<f32> {
    let values = bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    values.collect()
}

#[test]
fn column_major_files_hold_the_transpose() {
    let view = view();
    let rows = checked(&view, "grids/dense/slices/v@-4:14,2:16.bin");
    let columns = checked(&view, "grids/dense/slices/v@-4:14,2:16+order=F.bin");
    let cell = |bytes: &[u8], i: usize| [bytes[2 * i], bytes[2 * i + 1]];
    for row in 0..18 {
        for column in 0..14 {
            assert_eq!(
                cell(&columns, column * 18 + row),
                cell(&rows, row * 14 + column),
                "{row} {column}"
            );
        }
    }
    let npy = checked(&view, "grids/dense/slices/v@all+order=F.npy");
    assert!(String::from_utf8_lossy(&npy[..128]).contains("'fortran_order': True, 'shape': (23, 17)"));
    assert_eq!(npy[128..130], (-1_i16).to_le_bytes());
    assert_eq!(npy[130..132], value(1, 0).to_le_bytes());
    assert!(
        text(&view, "grids/dense/slices/v@-5:-3,0:2+order=F.csv").ends_with("-5,0,-1\n-4,0,100\n-5,1,-2\n-4,1,101\n")
    );
    let same = |path: &str| block_on(view.lookup(path)).unwrap().unwrap().id;
    assert_ne!(
        same("grids/dense/slices/v@all+order=F.bin"),
        same("grids/dense/slices/v@all.bin")
    );
    assert!(refusal(&view, "grids/dense/slices/v@all+order=F.png").contains("leave out order=F"));
}

#[test]
fn casts_and_fill_values_apply_to_attributes() {
    let context = Context::memory();
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 5_i32, 3_i32);
    let mut maybe = Attribute::new("maybe", Datatype::Int16, CellCount::ONE);
    maybe.nullable = true;
    let attributes = vec![
        Attribute::new("n", Datatype::Int16, CellCount::ONE),
        maybe,
        Attribute::new("place", Datatype::StringUtf8, CellCount::Var),
    ];
    let schema = Schema::new(ArrayType::Dense, vec![x], attributes);
    block_on(Array::create(&context, "a", &schema, &[], &created())).unwrap();
    let columns = vec![
        ("n".to_owned(), Column::from_values(Datatype::Int16, &[1_i16, 2, 3])),
        (
            "maybe".to_owned(),
            Column::from_values(Datatype::Int16, &[4_i16, 5, 6]).with_validity(vec![1, 0, 1]),
        ),
        (
            "place".to_owned(),
            Column::from_cells(Datatype::StringUtf8, ["a", "b", "c"]),
        ),
    ];
    let region = Some(vec![ScalarRange::new(0_i32, 2_i32)]);
    write(
        &context,
        "a",
        1,
        Cells {
            region,
            layout: Layout::RowMajor,
            columns,
        },
    );
    let view = whole(context);
    let bin = |name: &str| checked(&view, &format!("a/slices/{name}.bin"));
    let floats = values(&bin("n@0:5+as=float32+fill=nan"));
    assert_eq!(floats[..3], [1.0, 2.0, 3.0]);
    assert!(floats[3].is_nan() && floats[4].is_nan());
    // Null and unwritten cells become a value, so the field is a plain one.
    assert_eq!(
        bin("maybe@0:5+fill=-7"),
        [4, -7, 6, -7, -7].map(i16::to_le_bytes).concat()
    );
    let npy = checked(&view, "a/slices/maybe@0:5+as=float64+fill=nan.npy");
    assert!(String::from_utf8_lossy(&npy[..128]).contains("'descr': '<f8'"));
    assert_eq!(bin("n@0:2+as=int64"), [1_i64, 2].map(i64::to_le_bytes).concat());
    assert_eq!(text(&view, "a/slices/maybe@1:3+as=float64.csv"), "x,maybe\n1,\n2,6.0\n");
    for (name, words) in [
        ("n@all+as=int8", "int8 cannot hold all values of 'n' (int16)"),
        ("n@all+as=uint32", "uint32 cannot hold"),
        ("n@all+fill=1.5", "is not a value of 'n'"),
        ("all+fill=0", "'place' (string_utf8) has no numbers"),
    ] {
        let why = refusal(&view, &format!("a/slices/{name}.csv"));
        assert!(why.contains(words), "{name}: {why}");
    }
}

#[test]
fn conditions_and_limits_select_cells() {
    let view = view();
    let csv = text(&view, "points/slices/mag@all+where=mag >= 18.csv");
    assert_eq!(csv.lines().count(), 1 + 4, "{csv}");
    assert_eq!(checked(&view, "points/slices/mag@all+where=mag>=18.bin").len(), 4 * 4);
    assert_eq!(
        text(&view, "points/slices/all+where=place=='p3,\"q\"'.jsonl")
            .lines()
            .count(),
        1
    );
    assert_eq!(
        checked(&view, "points/slices/mag@all+limit=7.bin"),
        file(&view, "points/slices/mag@all.bin")[..28]
    );
    assert_eq!(checked(&view, "points/slices/mag@all+limit=700.bin").len(), 160);
    for format in ["csv", "json", "jsonl"] {
        let rows = text(&view, &format!("grids/dense/slices/v@all+limit=20.{format}"));
        assert!(rows.contains('0'), "{rows}");
        assert_eq!(
            rows.lines().count(),
            if format == "jsonl" {
                20
            } else {
                21 + usize::from(format == "json")
            },
            "{rows}"
        );
    }
    #[cfg(feature = "arrow")]
    {
        let whole = checked(&view, "grids/dense/slices/v@all.arrow").len();
        assert!(checked(&view, "grids/dense/slices/v@all+limit=20.arrow").len() < whole);
        checked(&view, "points/slices/all+limit=3.arrow");
    }
    // In a dense array, the cells that fail a condition are missing.
    let dense = checked(&view, "grids/dense/slices/v@0,0:3+where=v>500+fill=0.bin");
    assert_eq!(dense, [0, 501, 502].map(i16::to_le_bytes).concat());
    assert!(refusal(&view, "points/slices/all+where=mg>1.csv").contains("mg"));
    assert!(refusal(&view, "grids/dense/slices/all+limit=3.npy").contains("cannot have a limit"));
}

#[test]
fn images_have_colors_and_a_range() {
    let view = view();
    let header = |path: &str| checked(&view, path)[24..26].to_vec();
    assert_eq!(header("grids/dense/slices/v@all.png"), [16, 0]);
    assert_eq!(header("grids/dense/slices/v@all+cmap=viridis.png"), [8, 6]);
    let pixels = |path: &str| {
        let png = checked(&view, path);
        // The signature, the header, and the start of the data, up to the filter byte of the only row.
        png[8 + 25 + 8 + 2 + 5 + 1..].to_vec()
    };
    let ends = pixels("grids/dense/slices/v@0,0:2+cmap=viridis+range=400:501.png");
    assert_eq!(ends[4..8], [253, 231, 37, 255]);
    let gray = pixels("grids/dense/slices/v@0,0:2+range=500:502.png");
    assert_eq!(gray[..4], [0, 1, 0x80, 0]);
    assert!(refusal(&view, "grids/dense/slices/v@all+cmap=viridis.npy").contains("no colors"));
    assert!(refusal(&view, "grids/dense/slices/pair@all+cmap=viridis.png").contains("one value per cell"));
}
