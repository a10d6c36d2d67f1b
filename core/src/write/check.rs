//! Checks that the coordinates, label values and order of cells to write are valid.

use std::cmp::Ordering;
use std::ops::Range;

use super::sort::{duplicate, show};
use crate::column::Column;
use crate::cpu::{Cpu, PART, parts};
use crate::error::{Error, Result};
use crate::format::attribute::DataOrder;
use crate::format::schema::{Layout, Schema};
use crate::geometry::{CellOrder, KeyColumn};
use crate::key;

/// Checks that every coordinate is inside the domain and, if there is one, the current domain.
///
/// # Errors
/// [`Error::Cell`] names the first coordinate outside.
pub(crate) fn inside(schema: &Schema, dims: &[&Column], cpu: Cpu) -> Result<()> {
    for (d, (dimension, column)) in schema.dimensions.iter().zip(dims).enumerate() {
        let current = schema.current_domain.as_ref().and_then(|c| c.ranges.get(d));
        for (range, what) in [(dimension.domain.as_ref(), "domain"), (current, "current domain")] {
            let Some(range) = range else { continue };
            let outside = match (key::key(&range.lo), key::key(&range.hi)) {
                (Some(lo), Some(hi)) => {
                    let outside = |cells: &Range<usize>| {
                        let keys = key::keys(column.datatype.physical(), column.numbers(cells));
                        let at = match keys {
                            Ok(keys) => keys.iter().position(|k| !(lo..=hi).contains(k)),
                            Err(nan) => Some(nan),
                        };
                        Ok::<_, Error>(at.map(|i| cells.start + i))
                    };
                    let found = cpu.try_map(&parts(column.len(), PART), outside)?;
                    found.into_iter().flatten().next()
                }
                _ => {
                    let (lo, hi) = (range.lo.to_le_bytes(), range.hi.to_le_bytes());
                    (0..column.len()).find(|&i| !(lo.as_slice()..=hi.as_slice()).contains(&column.cell(i)))
                }
            };
            if let Some(i) = outside {
                let remedy = if what == "domain" {
                    "a domain never changes: import the cells with a larger --domain, or create a new array"
                } else {
                    "expand it first with `hyperslab evolve --expand-domain`"
                };
                let why = format!(
                    "{} = {} is outside the {what}, {}; {remedy}",
                    dimension.name,
                    show(column, i),
                    range.shown(dimension.datatype)
                );
                return Err(Error::Cell { cell: i as u64, why });
            }
        }
    }
    Ok(())
}

/// Checks that dimension label values rise or fall as their attribute declares, and follow `last`. Equal neighbours are
/// allowed. Returns the new last cell.
///
/// # Errors
/// [`Error::InvalidArgument`] names the first value out of order.
pub(crate) fn ordered(schema: &Schema, columns: &[Column], last: Option<&LastCell>) -> Result<Option<LastCell>> {
    let cells = columns.first().map_or(0, Column::len);
    if cells == 0 || schema.attributes.iter().all(|a| a.order == DataOrder::Unordered) {
        return Ok(last.cloned());
    }
    for (a, (attribute, column)) in schema.attributes.iter().zip(columns).enumerate() {
        let wrong = match attribute.order {
            DataOrder::Unordered => continue,
            DataOrder::Increasing => Ordering::Greater,
            DataOrder::Decreasing => Ordering::Less,
        };
        let keys = label_keys(&attribute.name, column)?;
        let before = last.and_then(|LastCell(columns)| columns.get(a));
        let before = before.map(|c| label_keys(&attribute.name, c)).transpose()?;
        let compare = |i: usize| match i.checked_sub(1) {
            Some(previous) => keys.compare(previous, &keys, i),
            None => before
                .as_ref()
                .map_or(Ordering::Equal, |before| before.compare(0, &keys, 0)),
        };
        if let Some(i) = (0..column.len()).find(|&i| compare(i) == wrong) {
            let (name, order) = (&attribute.name, attribute.order);
            return Err(Error::invalid(format!(
                "the values of '{name}' must be {order:?}; value {i}, counted from 0, is not"
            )));
        }
    }
    Ok(Some(LastCell(
        columns.iter().map(|c| c.slice(cells - 1..cells)).collect(),
    )))
}

/// The sort keys of label values.
fn label_keys<'a>(name: &str, column: &'a Column) -> Result<KeyColumn<'a>> {
    if let Some(offsets) = &column.offsets {
        return Ok(KeyColumn::Strings(&column.data, offsets));
    }
    key::keys(column.datatype.physical(), &column.data)
        .map(KeyColumn::Numbers)
        .map_err(|i| Error::invalid(format!("'{name}': value {i}, counted from 0, is not a number")))
}

/// The last cell of a batch, to compare with the first cell of the next batch: its coordinates if the array is sparse, or
/// its attributes.
#[derive(Debug, Clone)]
pub(crate) struct LastCell(Vec<Column>);

/// Checks that the cells rise in global order and follow `last`. Returns the new last cell.
///
/// # Errors
/// [`Error::InvalidArgument`] names the first cell that is out of order or repeated.
pub(crate) fn in_order(schema: &Schema, dims: &[&Column], last: Option<&LastCell>) -> Result<Option<LastCell>> {
    let order = CellOrder::new(schema, Layout::Global)?;
    let keys = order.keys(dims)?;
    let cells = dims.first().map_or(0, |c| c.len());
    let check = |before: &[KeyColumn<'_>], i: usize, j: usize| match order.compare_places(before, i, &keys, j) {
        Ordering::Greater => Err(Error::invalid(format!(
            "cell {j} of the batch, counted from 0, is not in the array's global order; sort the cells, or write them unordered"
        ))),
        Ordering::Equal if !schema.allows_duplicates && CellOrder::compare(before, i, &keys, j).is_eq() => {
            Err(duplicate(schema, dims, j))
        }
        _ => Ok(()),
    };
    if let (Some(LastCell(last)), true) = (last, cells > 0) {
        let last: Vec<&Column> = last.iter().collect();
        check(&order.keys(&last)?, 0, 0)?;
    }
    (1..cells).try_for_each(|j| check(&keys, j - 1, j))?;
    Ok(match cells {
        0 => last.cloned(),
        n => Some(LastCell(dims.iter().map(|c| one(c, n - 1)).collect())),
    })
}

fn one(column: &Column, i: usize) -> Column {
    let data = column.cell(i).to_vec();
    let offsets = column.cell.is_var().then(|| vec![0, data.len() as u64]);
    Column {
        data,
        offsets,
        validity: None,
        ..Column::empty(column.datatype, column.cell, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::attribute::Attribute;
    use crate::format::domain::Dimension;
    use crate::format::schema::ArrayType;

    fn schema() -> Schema {
        Schema::new(
            ArrayType::Sparse,
            vec![Dimension::new("x", Datatype::Float32, -1.0_f32, 1.0_f32, 1.0_f32)],
            vec![],
        )
    }

    fn x(values: &[f32]) -> Column {
        Column::from_values(Datatype::Float32, values)
    }

    #[test]
    fn coordinates_stay_in_the_domain() {
        inside(&schema(), &[&x(&[-1.0, 1.0])], Cpu::default()).unwrap();
        let e = inside(&schema(), &[&x(&[0.0, 1.5])], Cpu::default()).unwrap_err();
        assert!(
            e.to_string()
                .starts_with("cell 1, counted from 0: x = 1.5 is outside the domain, -1 to 1"),
            "{e}"
        );
        assert_eq!(e.code(), "InvalidArgument");
        assert!(inside(&schema(), &[&x(&[f32::NAN])], Cpu::default()).is_err());
        let mut many = vec![0.5; 3 * PART];
        (many[PART + 7], many[2 * PART]) = (f32::NAN, 2.0);
        let e = inside(&schema(), &[&x(&many)], Cpu::default()).unwrap_err();
        assert!(
            e.to_string()
                .starts_with("cell 8199, counted from 0: x = NaN is outside"),
            "{e}"
        );
    }

    #[test]
    fn dates_outside_the_domain_are_shown_as_dates() {
        let day = Dimension::new("day", Datatype::DatetimeDay, 18262_i64, 18627_i64, 10_i64);
        let schema = Schema::new(ArrayType::Sparse, vec![day], vec![]);
        let e = inside(
            &schema,
            &[&Column::from_values(Datatype::DatetimeDay, &[18687_i64])],
            Cpu::default(),
        )
        .unwrap_err();
        assert_eq!(
            e.to_string(),
            "cell 0, counted from 0: day = 2021-03-01 is outside the domain, 2020-01-01 to 2020-12-31; a domain never \
             changes: import the cells with a larger --domain, or create a new array"
        );
    }

    #[test]
    fn labels_rise_or_fall() {
        let mut label = Attribute::new("label", Datatype::Int8, CellCount::ONE);
        label.order = DataOrder::Decreasing;
        let schema = Schema::new(
            ArrayType::Dense,
            vec![Dimension::new("x", Datatype::Int32, 0, 9, 1)],
            vec![label],
        );
        let column = |values: &[i8]| [Column::from_values(Datatype::Int8, values)];
        let check = |values: &[i8]| ordered(&schema, &column(values), None);
        check(&[3, 3, -1]).unwrap();
        assert!(
            check(&[3, 4])
                .unwrap_err()
                .to_string()
                .contains("value 1, counted from 0, is not")
        );
        // Over batches too, of which some are empty.
        let last = check(&[3, 2]).unwrap();
        let last = ordered(&schema, &column(&[]), last.as_ref()).unwrap();
        ordered(&schema, &column(&[2, 1]), last.as_ref()).unwrap();
        let error = ordered(&schema, &column(&[3]), last.as_ref()).unwrap_err().to_string();
        assert!(error.contains("value 0, counted from 0, is not"), "{error}");
    }

    #[test]
    fn order_is_kept_over_batches() {
        let last = in_order(&schema(), &[&x(&[-0.5, 0.25])], None).unwrap();
        in_order(&schema(), &[&x(&[])], last.as_ref()).unwrap().unwrap();
        in_order(&schema(), &[&x(&[0.5])], last.as_ref()).unwrap();
        assert!(
            in_order(&schema(), &[&x(&[0.25])], last.as_ref())
                .unwrap_err()
                .to_string()
                .contains("same coordinates")
        );
        assert!(in_order(&schema(), &[&x(&[0.5, 0.0])], last.as_ref()).is_err());
    }
}
