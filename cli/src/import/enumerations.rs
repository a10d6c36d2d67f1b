//! Merges the Arrow dictionaries of a column into one enumeration. Each batch may have its own dictionary.

use std::collections::HashMap;

use anyhow::Result;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};
use hyperslab::Column;
use hyperslab::arrow::FieldType;
use hyperslab::schema::Enumeration;

use crate::show;

/// All distinct values of `dictionaries`, in the order of their first occurrence; `None` without dictionaries. Null
/// values are left out, because cells that refer to them are null.
///
/// Values that the file states come first, all of them and in their order. Without them, the enumeration is ordered if
/// `ordered` is set and all dictionaries list the values that they share in the same order. Otherwise, a warning says
/// that the order is lost.
pub(super) fn merged(
    name: &str,
    stated: Option<&ArrayRef>,
    dictionaries: &[&ArrayRef],
    ordered: bool,
) -> Result<Option<Enumeration>> {
    let Some(first) = dictionaries.first() else {
        return Ok(None);
    };
    // Values of another type are not those of this column.
    let stated =
        stated.filter(|s| s.data_type() == first.data_type() || is_text(s.data_type()) && is_text(first.data_type()));
    let mut field = FieldType::infer(&Field::new(name, first.data_type().clone(), false))?;
    field.nullable = true;
    let mut values = Column::empty(field.datatype, field.cell, false);
    let mut positions: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut is_ordered = ordered;
    for dictionary in stated.iter().chain(dictionaries) {
        let mut column = field.column(dictionary)?;
        let (mut new, mut last) = (Vec::new(), 0);
        for i in (0..column.len()).filter(|i| !column.is_null(*i)) {
            let next = positions.len();
            let position = *positions.entry(column.cell(i).to_vec()).or_insert(next);
            if position == next {
                new.push(u32::try_from(i)?);
            }
            is_ordered &= position >= last || stated.is_some();
            last = position;
        }
        column.validity = None;
        values.append(&column.picked(&new));
    }
    if ordered && !is_ordered {
        show::note(format_args!(
            "column '{name}': its dictionaries list the values in different orders, so the enumeration is not \
             ordered; to keep the order, unify them first, for example with pyarrow's `unify_dictionaries`"
        ));
    }
    Ok(Some(Enumeration {
        name: name.to_owned(),
        file: String::new(),
        ordered: is_ordered,
        values,
    }))
}

const fn is_text(t: &DataType) -> bool {
    matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
