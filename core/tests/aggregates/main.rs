//! Compares aggregates, some of which use tile statistics, with the cells of a read. The arrays have random,
//! overlapping writes with nulls, NaN, infinities and extreme values.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod unwritten;

use std::sync::Arc;

use hyperslab::blocking::block_on;
use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, delete};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::MemVfs;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use hyperslab::{
    Aggregate, Array, Batch, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, Region,
    Scalar, ScalarRange, Window, WriteOptions,
};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn range(&mut self, n: u64) -> (u64, u64) {
        let (a, b) = (self.below(n), self.below(n));
        (a.min(b), a.max(b))
    }
}

const ROWS: u64 = 20;
const COLUMNS: u64 = 12;

fn schema(dense: bool, duplicates: bool) -> Schema {
    let y = Dimension::new("y", Datatype::Uint64, 0_u64, ROWS - 1, 4_u64);
    let x = Dimension::new("x", Datatype::Uint64, 0_u64, COLUMNS - 1, 3_u64);
    let attribute = |name: &str, datatype, nullable| Attribute {
        nullable,
        ..Attribute::new(name, datatype, CellCount::ONE)
    };
    let attributes = vec![
        attribute("small", Datatype::Int16, false),
        attribute("large", Datatype::Int64, false),
        attribute("positive", Datatype::Uint64, true),
        attribute("real", Datatype::Float64, false),
        attribute("short", Datatype::Float32, true),
        Attribute::new("text", Datatype::StringAscii, CellCount::Var),
    ];
    let kind = if dense { ArrayType::Dense } else { ArrayType::Sparse };
    let mut schema = Schema::new(kind, vec![y, x], attributes);
    schema.capacity = 7;
    schema.allows_duplicates = duplicates;
    schema
}

/// Random numbers, in some columns including a few that are as large as possible.
fn columns(r: &mut Random, cells: u64) -> Vec<(String, Column)> {
    let extremes = r.chance(30);
    let mut values = |f: &dyn Fn(&mut Random, bool) -> f64| -> Vec<f64> {
        (0..cells)
            .map(|_| {
                let extreme = extremes && r.chance(10);
                f(r, extreme)
            })
            .collect()
    };
    let small: Vec<i16> = values(&|r, _| r.below(1000) as f64 - 500.0)
        .iter()
        .map(|v| *v as i16)
        .collect();
    // Casts saturate at the limits of the type.
    let large: Vec<i64> = values(&|r, e| if e { 9e30 } else { r.below(99) as f64 - 50.0 })
        .iter()
        .map(|v| *v as i64)
        .collect();
    let positive: Vec<u64> = values(&|r, e| if e { 9e30 } else { r.below(99) as f64 })
        .iter()
        .map(|v| *v as u64)
        .collect();
    let odd = [f64::NAN, f64::INFINITY, f64::MIN, f64::MAX, -0.0];
    let real = values(&|r, e| {
        if e {
            odd[r.below(5) as usize]
        } else {
            r.below(1 << 20) as f64 / 64.0
        }
    });
    let short: Vec<f32> = values(&|r, e| {
        if e {
            odd[r.below(2) as usize]
        } else {
            r.below(1 << 10) as f64 / 8.0
        }
    })
    .iter()
    .map(|v| *v as f32)
    .collect();
    let nulls = [0, 20, 100][r.below(3) as usize];
    let mut valid = || (0..cells).map(|_| u8::from(!r.chance(nulls))).collect::<Vec<u8>>();
    let (some, others) = (valid(), valid());
    let text: Vec<String> = (0..cells)
        .map(|_| "ab".repeat(r.below(4) as usize) + &r.below(9).to_string())
        .collect();
    vec![
        ("small".into(), Column::from_values(Datatype::Int16, &small)),
        ("large".into(), Column::from_values(Datatype::Int64, &large)),
        (
            "positive".into(),
            Column::from_values(Datatype::Uint64, &positive).with_validity(some),
        ),
        ("real".into(), Column::from_values(Datatype::Float64, &real)),
        (
            "short".into(),
            Column::from_values(Datatype::Float32, &short).with_validity(others),
        ),
        ("text".into(), Column::from_cells(Datatype::StringAscii, &text)),
    ]
}

fn write(r: &mut Random, array: &Array, options: &WriteOptions) {
    let dense = array.schema().is_dense();
    // Whole tiles, or any box.
    let ((y0, y1), (x0, x1)) = if r.chance(50) {
        let ((a, b), (c, d)) = (r.range(ROWS / 4), r.range(COLUMNS / 3));
        ((a * 4, b * 4 + 3), (c * 3, d * 3 + 2))
    } else {
        (r.range(ROWS), r.range(COLUMNS))
    };
    let cells = (y1 - y0 + 1) * (x1 - x0 + 1);
    let mut columns = columns(r, cells);
    if !dense {
        let width = x1 - x0 + 1;
        let all =
            |f: &dyn Fn(u64) -> u64| Column::from_values(Datatype::Uint64, &(0..cells).map(f).collect::<Vec<_>>());
        columns.push(("y".into(), all(&|c| y0 + c / width)));
        columns.push(("x".into(), all(&|c| x0 + c % width)));
    }
    let cells = Cells {
        region: dense.then(|| vec![ScalarRange::new(y0, y1), ScalarRange::new(x0, x1)]),
        layout: if dense { Layout::RowMajor } else { Layout::Unordered },
        columns,
    };
    block_on(array.write(cells, options)).unwrap();
}

fn array(r: &mut Random, seed: u64) -> MemVfs {
    let files = MemVfs::new();
    let context = Context::new(Arc::new(files.clone()));
    let (dense, duplicates) = (r.chance(50), r.chance(30));
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    block_on(Array::create(
        &context,
        "a",
        &schema(dense, duplicates && !dense),
        &[],
        &options,
    ))
    .unwrap();
    for i in 0..1 + r.below(4) {
        let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        let mut bytes = [seed as u8; 32];
        bytes[0] = i as u8;
        let mut at = WriteOptions {
            timestamp_ms: 10 * (i + 1),
            seed: bytes,
            sync: false,
        };
        write(r, &array, &at);
        let array = block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap();
        at.timestamp_ms += 5;
        at.seed[1] = 1;
        if r.chance(15) {
            block_on(consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &at)).unwrap();
        } else if !dense && r.chance(15) {
            block_on(delete(&array, &"small < -400".parse().unwrap(), &at)).unwrap();
        }
    }
    files
}

fn by_hand(aggregate: Aggregate, column: &Column) -> Option<Scalar> {
    let cells = (0..column.len()).filter(|&i| !column.is_null(i));
    let scalar = |i: usize| match column.cell {
        CellCount::Var => Scalar::Bytes(column.cell(i).to_vec()),
        _ => Scalar::from_le_bytes(column.datatype.physical(), column.cell(i)).unwrap(),
    };
    let values: Vec<Scalar> = cells.map(scalar).collect();
    let nan = |s: &&Scalar| s.as_f64().is_some_and(f64::is_nan);
    let numbers = || values.iter().filter(|v| !nan(v));
    let whole = || values.iter().filter_map(Scalar::as_i128).sum::<i128>();
    match aggregate {
        Aggregate::Count => Some(Scalar::U64(column.len() as u64)),
        Aggregate::NullCount => Some(Scalar::U64((column.len() - values.len()) as u64)),
        _ if values.is_empty() => None,
        Aggregate::Min => numbers().min_by(|a, b| a.order(b)).or(values.first()).cloned(),
        Aggregate::Max => numbers().max_by(|a, b| a.order(b)).or(values.first()).cloned(),
        Aggregate::Sum | Aggregate::Mean if column.datatype.is_float() => {
            let sum: f64 = values.iter().filter_map(Scalar::as_f64).sum();
            let mean = aggregate == Aggregate::Mean;
            Some(Scalar::F64(if mean { sum / values.len() as f64 } else { sum }))
        }
        Aggregate::Mean => Some(Scalar::F64(whole() as f64 / values.len() as f64)),
        Aggregate::Sum if column.datatype == Datatype::Uint64 => {
            Some(Scalar::U64(u64::try_from(whole()).unwrap_or(u64::MAX)))
        }
        Aggregate::Sum => Some(Scalar::I64(whole().clamp(i64::MIN.into(), i64::MAX.into()) as i64)),
    }
}

/// Whether two aggregates of a column are equal. Sums of floats may have been added in another order, so they only
/// agree up to rounding.
fn alike(a: Option<&Scalar>, b: Option<&Scalar>, aggregate: Aggregate, column: &Column) -> bool {
    let float = |s: Option<&Scalar>| match s {
        Some(Scalar::F64(v)) => Some(*v),
        Some(Scalar::F32(v)) => Some(f64::from(*v)),
        _ => None,
    };
    let (Some(x), Some(y)) = (float(a), float(b)) else {
        return a == b;
    };
    if x == y || (x.is_nan() && y.is_nan()) {
        return true;
    }
    let adds = matches!(aggregate, Aggregate::Sum | Aggregate::Mean);
    let values = (0..column.len()).filter(|&i| !column.is_null(i));
    let numbers = values.filter_map(|i| Scalar::from_le_bytes(column.datatype.physical(), column.cell(i))?.as_f64());
    let size: f64 = numbers.clone().map(f64::abs).sum();
    let met_the_limit = size > 1e300 && numbers.clone().all(f64::is_finite);
    adds && (met_the_limit || (x - y).abs() <= size * 1e-12)
}

#[test]
fn aggregates_match_the_cells() {
    let all = [
        Aggregate::Count,
        Aggregate::NullCount,
        Aggregate::Sum,
        Aggregate::Mean,
        Aggregate::Min,
        Aggregate::Max,
    ];
    // How often statistics were sufficient for dense and for sparse tiles, and how often cells were read.
    let (mut unread, mut read) = ([0; 2], 0);
    for seed in 1..=200 {
        let mut r = Random(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let files = array(&mut r, seed);
        let vfs = FaultyVfs::new(Arc::new(files), Fault::default());
        let ((y0, y1), (x0, x1)) = (r.range(ROWS), r.range(COLUMNS));
        let part = Region::from_box(vec![ScalarRange::new(y0, y1), ScalarRange::new(x0, x1)]);
        // A window up to the second write, which shows only part of the fragments that were consolidated later.
        let past = Window {
            start_ms: 0,
            end_ms: 20,
        };
        for (region, window) in [
            (Region::all(), Window::ALL),
            (part.clone(), Window::ALL),
            (Region::all(), past),
            (part, past),
        ] {
            let query = Query {
                region,
                ..Query::default()
            };
            let open = || {
                let context = Context::new(Arc::new(vfs.clone()));
                let options = OpenOptions {
                    window,
                    ..OpenOptions::default()
                };
                block_on(Array::open(&context, "a", &options)).unwrap()
            };
            let cells: Batch = block_on(open().read(&query)).unwrap();
            for field in open().schema().attributes.iter().map(|a| &a.name) {
                for aggregate in all {
                    let array = open();
                    vfs.set(Fault::default());
                    let found = match block_on(array.aggregate(&query, &[(aggregate, field)])) {
                        Ok(found) => found,
                        Err(e) => {
                            assert!(e.code() == "InvalidArgument" && field == "text", "{e}");
                            continue;
                        }
                    };
                    let column = cells.column(field).unwrap();
                    let expected = by_hand(aggregate, column);
                    assert!(
                        alike(found[0].as_ref(), expected.as_ref(), aggregate, column),
                        "array {seed}, {:?}: {aggregate:?} of {field} is {found:?}, from its cells {expected:?}",
                        query.region
                    );
                    let data = vfs.calls().iter().any(|c| c.path.ends_with(".tdb"));
                    if data {
                        read += 1;
                    } else if aggregate == Aggregate::Sum && cells.cells > 0 {
                        unread[usize::from(array.schema().is_dense())] += 1;
                    }
                }
            }
        }
    }
    assert!(
        unread.iter().all(|n| *n > 100) && read > 1000,
        "{unread:?} sums without data files, {read} aggregates with"
    );
}

/// A condition, and whether it holds for a non-null cell of its field.
type ConditionCase = (String, &'static str, Box<dyn Fn(&Scalar) -> bool>);

/// A condition that few cells satisfy, so that some tiles can be skipped.
fn asked(r: &mut Random) -> ConditionCase {
    let number = |s: &Scalar| s.as_f64().unwrap();
    let whole = |s: &Scalar| s.as_i128().unwrap();
    let near = r.below(30);
    match r.below(9) {
        0 => (format!("small > {}", 470 + near), "small", {
            let k = 470 + i128::from(near);
            Box::new(move |s| whole(s) > k)
        }),
        // The fill value satisfies this one.
        1 => (format!("small < {}", -470 - i128::from(near)), "small", {
            let k = -470 - i128::from(near);
            Box::new(move |s| whole(s) < k)
        }),
        7 => ("large == -50".into(), "large", Box::new(move |s| whole(s) == -50)),
        2 => (
            "positive in (0, 98, 200)".into(),
            "positive",
            Box::new(move |s| [0, 98, 200].contains(&whole(s))),
        ),
        3 => (format!("real >= {}", 16000 + near), "real", {
            let k = 16000.0 + near as f64;
            Box::new(move |s| number(s) >= k)
        }),
        4 => ("short <= 0.125".into(), "short", Box::new(move |s| number(s) <= 0.125)),
        5 => (
            "text < '01'".into(),
            "text",
            Box::new(|s| s.as_bytes().unwrap() < &b"01"[..]),
        ),
        6 => (
            "text in ('ababab0', 'zz')".into(),
            "text",
            Box::new(|s| s.as_bytes().unwrap() == b"ababab0"),
        ),
        _ => (
            "text >= 'ababab7'".into(),
            "text",
            Box::new(|s| s.as_bytes().unwrap() >= &b"ababab7"[..]),
        ),
    }
}

/// Selects these cells of a column.
fn picked(column: &Column, cells: &[usize]) -> Column {
    let bytes = || cells.iter().map(|&i| column.cell(i));
    let picked = match column.cell {
        CellCount::Var => Column::from_cells(column.datatype, bytes()),
        _ => Column {
            data: bytes().collect::<Vec<_>>().concat(),
            validity: None,
            ..column.clone()
        },
    };
    let validity = column.validity.as_ref();
    match validity.map(|v| cells.iter().map(|&i| v[i]).collect()) {
        Some(validity) => picked.with_validity(validity),
        None => picked,
    }
}

#[test]
fn conditions_find_the_matching_cells_even_if_tiles_are_skipped() {
    // How often no matching cells were found without reading any attribute file.
    let (mut unread, mut found_some) = ([0; 2], 0);
    for seed in 1..=400 {
        let mut r = Random(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let files = array(&mut r, seed);
        let vfs = FaultyVfs::new(Arc::new(files), Fault::default());
        let open = || {
            let context = Context::new(Arc::new(vfs.clone()));
            block_on(Array::open(&context, "a", &OpenOptions::default())).unwrap()
        };
        let dense = open().schema().is_dense();
        let ((y0, y1), (x0, x1)) = (r.range(ROWS), r.range(COLUMNS));
        let part = Region::from_box(vec![ScalarRange::new(y0, y1), ScalarRange::new(x0, x1)]);
        // Several ranges are not counted tile by tile.
        let rows = [(0, 5), (9, 15)].map(|(a, b)| ScalarRange::new(a, b)).to_vec();
        let some_rows = Region(vec![rows, vec![ScalarRange::new(0, COLUMNS - 1)]]);
        for region in [Region::all(), part, some_rows] {
            let (text, field, holds) = asked(&mut r);
            let all = Query {
                region,
                ..Query::default()
            };
            let query = Query {
                condition: Some(text.parse().unwrap()),
                ..all.clone()
            };
            let cells = block_on(open().read(&all)).unwrap();
            let tested = cells.column(field).unwrap();
            let scalar = |i: usize| match tested.cell {
                CellCount::Var => Scalar::Bytes(tested.cell(i).to_vec()),
                _ => Scalar::from_le_bytes(tested.datatype.physical(), tested.cell(i)).unwrap(),
            };
            let satisfies = |i: &usize| !tested.is_null(*i) && holds(&scalar(*i));
            let chosen: Vec<usize> = (0..tested.len()).filter(satisfies).collect();
            let what = format!("array {seed}, {:?}, {text}", query.region);

            vfs.set(Fault::default());
            let counted = block_on(open().count(&query)).unwrap();
            assert_eq!(counted, chosen.len() as u64, "{what}");
            let of_attributes = |path: &str| path.rsplit('/').next().is_some_and(|f| f.starts_with('a'));
            let read = vfs
                .calls()
                .iter()
                .any(|c| c.path.ends_with(".tdb") && of_attributes(&c.path));
            unread[usize::from(dense)] += usize::from(!read && cells.cells > 0);
            found_some += usize::from(counted > 0);

            let found = block_on(open().read(&query)).unwrap();
            for (name, column) in &found.columns {
                let before = cells.column(name).unwrap();
                let attribute = open().schema().attributes.iter().find(|a| a.name == *name).cloned();
                match attribute.filter(|_| dense) {
                    None => assert_eq!(column, &picked(before, &chosen), "{what}: {name}"),
                    Some(attribute) => {
                        for i in 0..before.len() {
                            let value = |c: &Column| (c.cell(i).to_vec(), c.is_null(i));
                            let null = attribute.nullable && !attribute.fill_valid;
                            let fill = (attribute.fill.clone(), null);
                            let expected = if chosen.contains(&i) { value(before) } else { fill };
                            assert_eq!(value(column), expected, "{what}: cell {i} of {name}");
                        }
                    }
                }
            }
            for (aggregate, name) in [
                (Aggregate::Sum, "small"),
                (Aggregate::Max, "text"),
                (Aggregate::NullCount, "short"),
            ] {
                let found = block_on(open().aggregate(&query, &[(aggregate, name)])).unwrap();
                let expected = by_hand(aggregate, &picked(cells.column(name).unwrap(), &chosen));
                assert_eq!(found, [expected], "{what}: {aggregate:?} of {name}");
            }
        }
    }
    assert!(
        unread.iter().all(|n| *n > 30) && found_some > 100,
        "{unread:?} counts without files of attributes, {found_some} conditions found cells"
    );
}
