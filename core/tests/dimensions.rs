//! Compares sparse reads of some dimensions, which do not decode the other coordinates, with reads of all dimensions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use hyperslab::blocking::block_on;
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::{
    Array, Batch, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region, ScalarRange,
    WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SIDE: i64 = 12;
const FIELDS: [&str; 3] = ["y", "s", "v"];

fn text(cell: i64) -> String {
    char::from(b'a' + (cell * 7 % 10) as u8).to_string()
}

/// An array with tiles of four cells, written three times.
fn array(duplicates: bool) -> Array {
    let dimensions = vec![
        Dimension::new("y", Datatype::Int64, 0_i64, SIDE - 1, 4_i64),
        Dimension::string("s"),
    ];
    let v = Attribute::new("v", Datatype::Int64, CellCount::ONE);
    let mut schema = Schema::new(ArrayType::Sparse, dimensions, vec![v]);
    schema.allows_duplicates = duplicates;
    schema.capacity = 4;
    let context = Context::memory();
    let seed = [1; 32];
    let created = CreateOptions {
        timestamp_ms: 1,
        seed,
        key: None,
    };
    block_on(Array::create(&context, "a", &schema, &[], &created)).unwrap();
    for write in 0..3_i64 {
        let cells: Vec<i64> = (0..SIDE * 10).filter(|c| c % (write + 2) == 0).collect();
        let numbers = |of: &dyn Fn(i64) -> i64| {
            Column::from_values(Datatype::Int64, &cells.iter().map(|&c| of(c)).collect::<Vec<_>>())
        };
        let columns = vec![
            ("y".to_owned(), numbers(&|c| c / 10)),
            (
                "s".to_owned(),
                Column::from_cells(Datatype::StringAscii, cells.iter().map(|&c| text(c))),
            ),
            ("v".to_owned(), numbers(&|c| c + 1000 * write)),
        ];
        let cells = Cells {
            region: None,
            layout: Layout::Unordered,
            columns,
        };
        let options = WriteOptions {
            timestamp_ms: 2 + write.cast_unsigned(),
            seed,
            sync: false,
        };
        block_on(open(&context).write(cells, &options)).unwrap();
    }
    open(&context)
}

fn open(context: &Context) -> Array {
    block_on(Array::open(context, "a", &OpenOptions::default())).unwrap()
}

fn read(array: &Array, query: &Query, fields: &[&str]) -> Batch {
    let fields = Some(fields.iter().map(|&f| f.to_owned()).collect());
    block_on(array.read(&Query {
        fields,
        ..query.clone()
    }))
    .unwrap()
}

/// The values of `v` in the cells of a full read that `keep` accepts.
fn kept(all: &Batch, keep: &dyn Fn(i64, &str) -> bool) -> Vec<i64> {
    let column = |name: &str| &all.columns.iter().find(|c| c.0 == name).unwrap().1;
    let numbers = |name: &str| -> Vec<i64> { bytemuck::pod_collect_to_vec(&column(name).data) };
    let text = |i| std::str::from_utf8(column("s").cell(i)).unwrap();
    let places = numbers("y").into_iter().zip(numbers("v")).enumerate();
    let mut out: Vec<i64> = places
        .filter(|(i, (y, _))| keep(*y, text(*i)))
        .map(|(_, (_, v))| v)
        .collect();
    out.sort_unstable();
    out
}

#[test]
fn reads_of_some_dimensions_match_reads_of_all() {
    type Keep = fn(i64, &str) -> bool;
    let y = |lo: i64, hi: i64| vec![ScalarRange::new(lo, hi)];
    let s = |lo: &str, hi: &str| vec![ScalarRange::new(lo, hi)];
    let regions: [(Region, Keep); 5] = [
        (Region::all(), |_, _| true),
        (Region(vec![y(3, 5), vec![]]), |y, _| (3..=5).contains(&y)),
        (Region(vec![vec![], s("c", "e")]), |_, s| ("c"..="e").contains(&s)),
        (Region(vec![y(0, 3), s("b", "b")]), |y, s| y <= 3 && s == "b"),
        (
            Region(vec![
                vec![ScalarRange::new(1_i64, 1_i64), ScalarRange::new(6_i64, 11_i64)],
                s("a", "i"),
            ]),
            |y, s| (y == 1 || y >= 6) && s <= "i",
        ),
    ];
    let conditions: [(Option<&str>, Keep); 4] = [
        (None, |_, _| true),
        (Some("y > 3"), |y, _| y > 3),
        (Some("s >= 'c'"), |_, s| s >= "c"),
        (Some("s != 'c' and y != 4"), |y, s| s != "c" && y != 4),
    ];
    for duplicates in [false, true] {
        let array = array(duplicates);
        let everything = read(&array, &Query::default(), &FIELDS);
        for (region, inside) in &regions {
            for (condition, holds) in &conditions {
                for order in [Layout::Unordered, Layout::RowMajor] {
                    let query = Query {
                        region: region.clone(),
                        condition: condition.map(|c| c.parse().unwrap()),
                        order,
                        ..Query::default()
                    };
                    let all = read(&array, &query, &FIELDS);
                    let keep = |y: i64, s: &str| inside(y, s) && holds(y, s);
                    assert_eq!(kept(&all, &|_, _| true), kept(&everything, &keep), "{query:?}");
                    for fields in 1..8 {
                        let fields: Vec<&str> = (0..3).filter(|i| fields >> i & 1 == 1).map(|i| FIELDS[i]).collect();
                        for (name, column) in read(&array, &query, &fields).columns {
                            let expect = all.columns.iter().find(|c| c.0 == name).unwrap();
                            assert_eq!(column, expect.1, "{name} of {fields:?}, {query:?}");
                        }
                    }
                }
            }
        }
    }
}
