//! Dense arrays whose attributes are dropped and added again. Writes without the attribute keep its older cells
//! visible, except in tiles where they cover everything that the older write covers. libtiledb does the same.

use hyperslab::blocking::block_on;
use hyperslab::maintain::{Evolution, evolve};
use hyperslab::schema::{Attribute, Layout, Schema};
use hyperslab::{Batch, Cells, Column, Context, Datatype, Query, Window};
use proptest::prelude::*;

use super::dense::{self, Model, region};
use super::{Chore, at, do_chore, new_array, open};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

type Ends = (i32, i32);

/// Rows, columns and names of the attributes, by time of the write.
type Writes = Vec<(u64, [Ends; 2], Vec<String>)>;

/// Rows and columns of a tile.
const EXTENTS: [i32; 2] = [3, 4];

#[derive(Debug, Clone)]
enum Step {
    /// Closed ranges of rows and columns.
    Write(Ends, Ends),
    /// Drops the attribute with this number, or adds it again.
    Turn(usize),
}

/// Two attributes that are dropped and added, and one that stays.
fn schema(cell_order: Layout) -> Schema {
    let mut schema = dense::schema(Layout::RowMajor, cell_order);
    schema
        .attributes
        .push(Attribute::new("stays", Datatype::Int32, hyperslab::CellCount::ONE));
    schema
}

fn column(name: &str, time: u64, cells: usize) -> Column {
    let time = i32::try_from(time).unwrap();
    match name {
        "small" => Column::from_values(Datatype::Int16, &vec![time as i16; cells]).with_validity(vec![1; cells]),
        "text" => Column::from_cells(Datatype::StringUtf8, vec![time.to_string(); cells]),
        _ => Column::from_values(Datatype::Int32, &vec![time; cells]),
    }
}

fn write(context: &Context, time: u64, rows: Ends, columns: Ends) -> Vec<String> {
    let array = open(context, Window::ALL);
    let names: Vec<String> = array.schema().attributes.iter().map(|a| a.name.clone()).collect();
    let cells = ((rows.1 - rows.0 + 1) * (columns.1 - columns.0 + 1)) as usize;
    let cells = Cells {
        region: Some(region(rows, columns)),
        layout: Layout::RowMajor,
        columns: names.iter().map(|n| (n.clone(), column(n, time, cells))).collect(),
    };
    block_on(array.write(cells, &at(time))).unwrap();
    names
}

/// For each cell in row order, the time of the visible write of an attribute, or `None`.
fn model(writes: &Writes, attribute: &str) -> Model {
    let shown = |cell: [i32; 2]| {
        // The part of a tile that a write covers.
        let part = |boxed: &[Ends; 2]| {
            [0, 1].map(|d| {
                let first = cell[d] / EXTENTS[d] * EXTENTS[d];
                (boxed[d].0.max(first), boxed[d].1.min(first + EXTENTS[d] - 1))
            })
        };
        let covers = |a: [Ends; 2], b: [Ends; 2]| (0..2).all(|d| a[d].0 <= b[d].0 && b[d].1 <= a[d].1);
        let holds = |boxed: &[Ends; 2]| covers(*boxed, cell.map(|c| (c, c)));
        let candidates = writes.iter().enumerate().rev();
        let found = candidates.filter(|(i, (_, boxed, names))| {
            let hidden = |newer: &(u64, [Ends; 2], Vec<String>)| covers(part(&newer.1), part(boxed));
            holds(boxed) && names.iter().any(|n| n == attribute) && !writes[i + 1..].iter().any(hidden)
        });
        found.map(|(_, (time, ..))| *time).next()
    };
    (0..7).flat_map(|y| (0..9).map(move |x| [y, x])).map(shown).collect()
}

/// Drops the attribute, or adds it again.
fn turn(context: &Context, time: u64, attribute: &Attribute) {
    let array = open(context, Window::ALL);
    let change = match array.schema().attribute(&attribute.name) {
        Some(_) => Evolution {
            drop: vec![attribute.name.clone()],
            ..Evolution::default()
        },
        None => Evolution {
            add: vec![attribute.clone()],
            ..Evolution::default()
        },
    };
    block_on(evolve(&array, &change, &at(time))).unwrap();
}

fn check(batch: &Batch, models: &[(String, Model)]) -> Result<(), String> {
    for (name, found) in &batch.columns {
        let (_, model) = models.iter().find(|(n, _)| n == name).unwrap();
        for (i, time) in model.iter().enumerate() {
            let same = match time {
                Some(t) => !found.is_null(i) && found.cell(i) == column(name, *t, 1).cell(0),
                None if name == "small" => found.is_null(i),
                None if name == "text" => found.cell(i) == [0],
                None => found.cell(i) == i32::MIN.to_le_bytes(),
            };
            if !same {
                return Err(format!("'{name}', cell {i}: {:?}, not of time {time:?}", found.cell(i)));
            }
        }
    }
    Ok(())
}

/// Checks the array in every order, in small batches, and cell by cell.
fn check_all(context: &Context, models: &[(String, Model)]) -> Result<(), String> {
    let array = open(context, Window::ALL);
    let query = Query::default();
    check(&block_on(array.read(&query)).unwrap(), models)?;
    let mut by_columns = block_on(array.read(&Query {
        order: Layout::ColMajor,
        ..query.clone()
    }))
    .unwrap();
    let side = models.first().map_or(0, |(_, m)| m.len()) as i32 / 9;
    let rows_first: Vec<usize> = (0..side * 9).map(|i| (i % 9 * side + i / 9) as usize).collect();
    for (_, column) in &mut by_columns.columns {
        let cells: Vec<Vec<u8>> = rows_first.iter().map(|&i| column.cell(i).to_vec()).collect();
        let validity = column
            .validity
            .as_ref()
            .map(|v| rows_first.iter().map(|&i| v[i]).collect());
        column.data = cells.concat();
        if let Some(offsets) = &mut column.offsets {
            let ends = cells.iter().scan(0, |end, c| {
                *end += c.len() as u64;
                Some(*end)
            });
            *offsets = std::iter::once(0).chain(ends).collect();
        }
        column.validity = validity;
    }
    check(&by_columns, models)?;
    let fixed: Vec<String> = array
        .schema()
        .attributes
        .iter()
        .map(|a| a.name.clone())
        .filter(|n| n != "text")
        .collect();
    let along = |of: fn(i32) -> i32| {
        let values: Vec<i32> = (0..side * 9).map(of).collect();
        Column::from_values(Datatype::Int32, &values)
    };
    let coordinates = [along(|i| i / 9 - 3), along(|i| i % 9 + 1)];
    check(&block_on(array.read_points(Some(fixed), &coordinates)).unwrap(), models)
}

fn ends(side: i32) -> impl Strategy<Value = Ends> {
    (0..side, 0..side).prop_map(|(a, b)| (a.min(b), a.max(b)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_attribute_added_again_shows_the_cells_that_no_later_write_hides(
        steps in prop::collection::vec(
            prop_oneof![
                3 => (ends(7), ends(9)).prop_map(|(y, x)| Step::Write(y, x)),
                2 => (0..2_usize).prop_map(Step::Turn),
            ],
            2..12,
        ),
        by_column in any::<bool>(),
    ) {
        let schema = schema(if by_column { Layout::ColMajor } else { Layout::RowMajor });
        let context = new_array(&schema);
        let mut writes = Writes::new();
        // All times have the same number of digits, because schemas are sorted by name.
        let mut time = 1000;
        for step in steps {
            time += 10;
            match step {
                Step::Turn(i) => turn(&context, time, &schema.attributes[i]),
                Step::Write(rows, columns) => {
                    let names = write(&context, time, rows, columns);
                    writes.push((time, [rows, columns], names));
                }
            }
        }
        for attribute in &schema.attributes {
            if open(&context, Window::ALL).schema().attribute(&attribute.name).is_none() {
                time += 10;
                turn(&context, time, attribute);
            }
        }
        let models: Vec<(String, Model)> =
            schema.attributes.iter().map(|a| (a.name.clone(), model(&writes, &a.name))).collect();
        check_all(&context, &models).map_err(TestCaseError::fail)?;
        do_chore(&context, Chore::Fragments { small: false }, time + 10);
        check_all(&context, &models).map_err(TestCaseError::fail)?;
    }
}
