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

/// Checks that dimension label values rise or fall as their attribute declares. Equal neighbours are allowed.
///
/// # Errors
/// [`Error::InvalidArgument`] names the first value out of order.
pub(crate) fn ordered(schema: &Schema, columns: &[Column]) -> Result<()> {
    for (attribute, column) in schema.attributes.iter().zip(columns) {
        let wrong = match attribute.order {
            DataOrder::Unordered => continue,
            DataOrder::Increasing => Ordering::Greater,
            DataOrder::Decreasing => Ordering::Less,
        };
        let keys = match &column.offsets {
            Some(offsets) => KeyColumn::Strings(&column.data, offsets),
            None => match key::keys(column.datatype.physical(), &column.data) {
                Ok(keys) => KeyColumn::Numbers(keys),
                Err(i) => {
                    return Err(Error::invalid(format!(
                        "'{}': value {i}, counted from 0, is not a number",
                        attribute.name
                    )));
                }
            },
        };
        if let Some(i) = (1..column.len()).find(|&i| keys.compare(i - 1, &keys, i) == wrong) {
            let (name, order) = (&attribute.name, attribute.order);
            return Err(Error::invalid(format!(
                "the values of '{name}' must be {order:?}; value {i}, counted from 0, is not"
            )));
        }
    }
    Ok(())
}

/// The last cell of a batch in global order, to compare with the first cell of the next batch.
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
        let check = |values: &[i8]| ordered(&schema, &[Column::from_values(Datatype::Int8, values)]);
        check(&[3, 3, -1]).unwrap();
        assert!(
            check(&[3, 4])
                .unwrap_err()
                .to_string()
                .contains("value 1, counted from 0, is not")
        );
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
