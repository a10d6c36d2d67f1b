//! Errors of an array name the file and say what to do.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::internals::filter::Nonces;
use hyperslab::internals::format::condition::StoredCondition;
use hyperslab::internals::format::generic_tile;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Enumeration, EnumerationRef, Layout, Schema};
use hyperslab::vfs::VfsExt;
use hyperslab::{
    Array, CellCount, Cells, Column, CompareOp, Context, CreateOptions, Datatype, OpenOptions, Query, Region,
    ScalarRange, WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn at(timestamp_ms: u64) -> WriteOptions {
    WriteOptions {
        timestamp_ms,
        seed: [timestamp_ms as u8; 32],
        sync: false,
    }
}

fn open(context: &Context) -> hyperslab::Result<Array> {
    block_on(Array::open(context, "a", &OpenOptions::default()))
}

/// A sparse array of two fragments.
fn sparse() -> Context {
    let context = Context::memory();
    let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
    let schema = Schema::new(ArrayType::Sparse, vec![x], vec![number]);
    let options = CreateOptions {
        timestamp_ms: 0,
        seed: [0; 32],
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    for time in 1..3 {
        let column = || Column::from_values(Datatype::Int32, &[time as i32]);
        let cells = Cells {
            region: None,
            layout: Layout::Unordered,
            columns: vec![("x".into(), column()), ("number".into(), column())],
        };
        block_on(open(&context).unwrap().write(cells, &at(time))).unwrap();
    }
    context
}

#[test]
fn a_delete_with_too_few_bytes_is_named_by_its_file() {
    let context = sparse();
    let keep = StoredCondition::Compare {
        field: "number".into(),
        op: CompareOp::Lt,
        value: vec![1, 2, 3],
    };
    let bytes = generic_tile::encode(&keep.encode(), None, &Nonces::new([1; 32])).unwrap();
    let name = "__commits/__2_2_00000000000000000000000000000001_22.del";
    block_on(context.vfs.put(&format!("a/{name}"), vec![Bytes::from(bytes)])).unwrap();
    let array = open(&context).unwrap();
    let read = block_on(array.read(&Query::default())).map(drop);
    let merged = block_on(consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &at(9))).map(drop);
    for error in [read.unwrap_err(), merged.unwrap_err()] {
        let text = error.to_string();
        assert_eq!(error.code(), "Corrupt", "{text}");
        for word in [name, "'number'", "3", "removing this file restores"] {
            assert!(text.contains(word), "{text}");
        }
    }
}

/// libtiledb can drop attributes that deletes use, and then refuses to read the array. If such a delete affects no
/// cell, there is nothing to refuse.
#[test]
fn a_delete_by_a_dropped_field_is_refused_if_it_affects_cells() {
    let keep = StoredCondition::Compare {
        field: "gone".into(),
        op: CompareOp::Lt,
        value: vec![7, 0, 0, 0],
    };
    let bytes = generic_tile::encode(&keep.encode(), None, &Nonces::new([1; 32])).unwrap();
    let deleted_at = |time: u64| {
        let context = sparse();
        let name = format!("__commits/__{time}_{time}_00000000000000000000000000000001_22.del");
        block_on(context.vfs.put(&format!("a/{name}"), vec![Bytes::from(bytes.clone())])).unwrap();
        (open(&context).unwrap(), name)
    };
    let (array, _) = deleted_at(0);
    assert_eq!(block_on(array.read(&Query::default())).unwrap().cells, 2);

    let (array, name) = deleted_at(1);
    let merged = block_on(consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &at(9))).map(drop);
    for error in [
        block_on(array.read(&Query::default())).map(drop).unwrap_err(),
        merged.unwrap_err(),
    ] {
        let text = error.to_string();
        assert_eq!(error.code(), "Unsupported", "{text}");
        for word in [name.as_str(), "'gone'", "at a time when it has", "add the field again"] {
            assert!(text.contains(word), "{text}");
        }
    }
    let second = Query {
        region: Region::from_box(vec![ScalarRange::new(2_i32, 2_i32)]),
        ..Query::default()
    };
    assert_eq!(
        block_on(array.read(&second)).unwrap().cells,
        1,
        "a box outside the delete"
    );
}

#[test]
fn a_fragment_with_an_invalid_name_says_how_to_remove_it() {
    for (name, why) in [
        ("__1_1_00000000000000000000000000000001_447", "no version 447"),
        ("__junk", "__t1_t2_uuid"),
    ] {
        let context = sparse();
        block_on(context.vfs.put(&format!("a/__commits/{name}.wrt"), vec![])).unwrap();
        let text = open(&context).unwrap_err().to_string();
        for word in [name, why, "move it and its marker in __commits"] {
            assert!(text.contains(word), "{text}");
        }
    }
}

#[test]
fn a_key_value_store_is_recognised() {
    let context = Context::memory();
    block_on(context.vfs.put("a/__kv_schema.tdb", vec![])).unwrap();
    let error = open(&context).unwrap_err();
    assert_eq!(error.code(), "Unsupported");
    assert!(error.to_string().contains("key-value store"), "{error}");
}

#[test]
fn a_schema_with_other_dimensions_is_named_by_its_file() {
    let context = Context::memory();
    let create_at = |path: &str, time: u64, extent: i32, kind: ArrayType| {
        let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, extent);
        let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
        let options = CreateOptions {
            timestamp_ms: time,
            seed: [time as u8; 32],
            key: None,
        };
        block_on(Array::create(
            &context,
            path,
            &Schema::new(kind, vec![x], vec![number]),
            &[],
            &options,
        ))
        .unwrap();
        let listed = block_on(context.vfs.list(&format!("{path}/__schema"))).unwrap();
        let name = listed.into_iter().map(|e| e.name).find(|n| n != "__enumerations");
        let file = format!("__schema/{}", name.unwrap());
        let bytes = block_on(context.vfs.read_all(&format!("{path}/{file}"))).unwrap();
        (file, bytes)
    };
    let (own, _) = create_at("a", 1, 5, ArrayType::Dense);
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns: vec![("number".into(), Column::from_values(Datatype::Int32, &[7; 10]))],
    };
    block_on(open(&context).unwrap().write(cells, &at(2))).unwrap();
    let add_schema = |time: u64, extent: i32, kind: ArrayType| {
        let (file, bytes) = create_at(&format!("other{time}"), time, extent, kind);
        block_on(context.vfs.put(&format!("a/{file}"), vec![bytes])).unwrap();
        open(&context).map_err(|e| e.to_string())
    };
    assert!(add_schema(3, 5, ArrayType::Dense).is_ok());
    for (time, extent, kind) in [(4, 2, ArrayType::Dense), (5, 5, ArrayType::Sparse)] {
        let refused = add_schema(time, extent, kind).unwrap_err();
        assert!(
            refused.contains(&format!("a/{own}")) && refused.contains("dimensions"),
            "{refused}"
        );
    }
}

#[test]
fn a_delete_that_libtiledb_would_misread_is_refused() {
    let context = Context::memory();
    let text = Attribute::new("text", Datatype::Char, CellCount::Fixed(5));
    let number = Attribute::new("number", Datatype::Int32, CellCount::ONE);
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
    let options = CreateOptions {
        timestamp_ms: 0,
        seed: [0; 32],
        key: None,
    };
    let schema = Schema::new(ArrayType::Sparse, vec![x], vec![text, number]);
    block_on(Array::create(&context, "a", &schema, &[], &options)).unwrap();
    let array = open(&context).unwrap();
    let refused = |condition: &str| block_on(delete(&array, &condition.parse().unwrap(), &at(1))).unwrap_err();
    for condition in ["text == 'abc'", "number > 3 and text != 'abcde'"] {
        let error = refused(condition);
        assert!(
            error.code() == "Unsupported" && error.to_string().contains("'text'"),
            "{error}"
        );
    }
    assert!(block_on(delete(&array, &"number > 3".parse().unwrap(), &at(1))).is_ok());
}

#[test]
fn an_index_beyond_the_enumeration_is_refused() {
    let mut kind = Attribute::new("kind", Datatype::Int8, CellCount::ONE);
    kind.enumeration = Some("kinds".into());
    let x = Dimension::new("x", Datatype::Int32, 0_i32, 9_i32, 5_i32);
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let mut schema = Schema::new(array_type, vec![x.clone()], vec![kind.clone()]);
        schema.enumerations = vec![EnumerationRef {
            name: "kinds".into(),
            file: String::new(),
        }];
        let kinds = Enumeration {
            name: "kinds".into(),
            file: String::new(),
            ordered: false,
            values: Column::from_cells(Datatype::StringUtf8, ["cat", "dog"]),
        };
        let options = CreateOptions {
            timestamp_ms: 0,
            seed: [0; 32],
            key: None,
        };
        let context = Context::memory();
        block_on(Array::create(&context, "a", &schema, &[kinds], &options)).unwrap();
        let array = open(&context).unwrap();
        let write = |indexes: [i8; 3]| {
            let column = Column::from_values(Datatype::Int8, &indexes);
            let mut cells = Cells {
                region: None,
                layout: Layout::RowMajor,
                columns: vec![("kind".into(), column)],
            };
            if array_type == ArrayType::Dense {
                cells.region = Some(vec![ScalarRange::new(0_i32, 2_i32)]);
            } else {
                cells.layout = Layout::Unordered;
                cells
                    .columns
                    .push(("x".into(), Column::from_values(Datatype::Int32, &[0_i32, 1, 2])));
            }
            block_on(array.write(cells, &at(1)))
        };
        let error = write([0, 1, 2]).unwrap_err().to_string();
        assert!(
            error.contains("'kind': cell 2, counted from 0, has the index 2") && error.contains("has 2 values"),
            "{error}"
        );
        write([-1, 1, i8::MIN]).unwrap();
    }
}
