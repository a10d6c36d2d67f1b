//! Converts a file's columns to an array's columns.

use anyhow::{Result, bail};
use arrow_array::ArrayRef;
use hyperslab::arrow::{FieldType, Form};
use hyperslab::schema::Field;
use hyperslab::{CellCount, Column};

use super::{Named, Values, text};

/// Converts a column to the type of `field`.
pub(crate) fn column(named: Named, field: impl Into<FieldType>) -> Result<Column> {
    let field = &field.into();
    match named.values {
        // Errors about text name the line and the column.
        Values::Text(text, lines, rules) => text::column(&text, &lines, rules, field),
        Values::Arrow(_, arrays) => joined(&arrays, field),
        Values::Plain(column) => plain(column, field),
        Values::Seen(_) | Values::Typed(..) | Values::Summary(_) => {
            bail!("the cells of column '{}' were not read", field.name)
        }
    }
}

fn joined(arrays: &[ArrayRef], field: &FieldType) -> Result<Column> {
    let mut whole = Column::empty(field.datatype, field.cell, field.nullable);
    for array in arrays {
        whole.append(&field.column(array)?);
    }
    Ok(whole)
}

fn plain(column: Column, field: &FieldType) -> Result<Column> {
    if (column.datatype, column.cell) == (field.datatype, field.cell) && field.enumeration.is_none() {
        return match (&column.validity, field.nullable) {
            (None, true) => Ok(Column {
                validity: Some(vec![1; column.len()]),
                ..column
            }),
            (Some(v), false) if v.iter().all(|v| *v != 0) => Ok(Column {
                validity: None,
                ..column
            }),
            (Some(_), false) => bail!(
                "field '{}' has nulls in the file, but is not nullable in the array; replace them in the file",
                field.name
            ),
            _ => Ok(column),
        };
    }
    if let (CellCount::Fixed(stored), CellCount::Fixed(taken)) = (column.cell, field.cell)
        && stored != taken
        && !column.datatype.is_bytes()
    {
        let complex = if column.datatype.is_float() && (stored, taken) == (2, 1) {
            "; a complex number is two values: store its real and its imaginary part (numpy's .real and .imag) as two \
             attributes"
        } else {
            "; give the file as many values per cell as the array has"
        };
        bail!(
            "a cell of '{}' has {stored} values in the file, but {taken} in the array{complex}",
            field.name
        );
    }
    // All other conversions go through Arrow, without loss.
    let mut source = FieldType::from(Field {
        nullable: column.validity.is_some(),
        ..Field::new(&field.name, column.datatype, column.cell)
    });
    // A numeric field gets the raw ticks of dates and times.
    if !source.is_natural(&column) || !field.datatype.is_temporal() && column.datatype.is_temporal() {
        source.form = Form::Raw;
    }
    Ok(field.column(&source.array(&column, 0..column.len(), None)?)?)
}
