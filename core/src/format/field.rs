//! The description of a field: what reads, writes and all file formats know about its cells.

use std::sync::Arc;

use super::attribute::{Attribute, is_complex};
use super::domain::Dimension;
use super::enumeration::Enumeration;
use super::fragment::slots::FieldId;
use super::schema::Schema;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::suggest;

/// Names of the fields that only consolidated fragments have.
const TIMESTAMPS: &str = "__timestamps";
const DELETE_TIMESTAMPS: &str = "__delete_timestamps";
const DELETE_CONDITIONS: &str = "__delete_condition_index";

/// A field of an array, or a column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name. May be empty.
    pub name: String,
    /// Its place in the array's schema; `None` for a column of no array, such as one of an imported table.
    pub id: Option<FieldId>,
    /// The type of each value.
    pub datatype: Datatype,
    /// The number of values per cell.
    pub cell: CellCount,
    /// Whether cells may be null.
    pub nullable: bool,
    /// The value of cells that were never written. Empty if the field has no fill value.
    pub fill: Vec<u8>,
    /// Whether the fill value is a value (true) or null (false). Only for nullable fields.
    pub fill_valid: bool,
    /// The enumeration of the field's integers, if its values are known.
    pub enumeration: Option<Arc<Enumeration>>,
}

impl Field {
    /// A column of no array, without nulls and without a fill value.
    pub fn new(name: &str, datatype: Datatype, cell: CellCount) -> Self {
        Self {
            name: name.to_owned(),
            id: None,
            datatype,
            cell,
            nullable: false,
            fill: Vec::new(),
            fill_valid: false,
            enumeration: None,
        }
    }

    /// The field of attribute number `i`, without the values of its enumeration.
    pub fn attribute(attribute: &Attribute, i: usize) -> Self {
        Self {
            id: Some(FieldId::Attribute(i)),
            nullable: attribute.nullable,
            fill: attribute.fill.clone(),
            fill_valid: attribute.fill_valid,
            ..Self::new(&attribute.name, attribute.datatype, attribute.cell)
        }
    }

    /// The field of dimension number `i`.
    pub fn dimension(dimension: &Dimension, i: usize) -> Self {
        Self {
            id: Some(FieldId::Dimension(i)),
            fill: dimension.datatype.default_fill(),
            fill_valid: true,
            ..Self::new(&dimension.name, dimension.datatype, dimension.cell)
        }
    }

    /// Whether each cell is a complex number.
    pub(crate) fn is_complex(&self) -> bool {
        is_complex(self.datatype, self.cell)
    }

    /// The field of write times or deletes, which only consolidated fragments have. Cells of other fragments were not
    /// deleted.
    pub(crate) fn special(id: FieldId) -> Self {
        let name = match id {
            FieldId::DeleteTimestamps => DELETE_TIMESTAMPS,
            FieldId::DeleteConditions => DELETE_CONDITIONS,
            _ => TIMESTAMPS,
        };
        Self {
            id: Some(id),
            fill: u64::MAX.to_le_bytes().to_vec(),
            ..Self::new(name, Datatype::Uint64, CellCount::ONE)
        }
    }

    /// The attribute or dimension with this name.
    pub fn find(schema: &Schema, name: &str) -> Option<Self> {
        let attribute = schema.attribute(name).map(|(i, a)| Self::attribute(a, i));
        attribute.or_else(|| schema.dimension(name).map(|(i, d)| Self::dimension(d, i)))
    }

    /// The attribute or dimension with this name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such field. The message lists the schema's fields.
    pub fn named(schema: &Schema, name: &str) -> Result<Self> {
        Self::find(schema, name).ok_or_else(|| {
            let dimensions = schema.dimensions.iter().map(|d| d.name.as_str());
            let names: Vec<&str> = dimensions
                .chain(schema.attributes.iter().map(|a| a.name.as_str()))
                .collect();
            Error::invalid(suggest::unknown("field", name, &names))
        })
    }

    /// Resolves field names. `None` selects every attribute, preceded by every dimension if the array is sparse.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a name does not exist or is listed twice.
    pub fn resolve(schema: &Schema, names: Option<&[String]>) -> Result<Vec<Self>> {
        let all = || {
            let dimensions = schema.dimensions.iter().filter(|_| !schema.is_dense()).map(|d| &d.name);
            dimensions
                .chain(schema.attributes.iter().map(|a| &a.name))
                .cloned()
                .collect()
        };
        let names = names.map_or_else(all, <[String]>::to_vec);
        for (i, name) in names.iter().enumerate() {
            if names.get(..i).is_some_and(|before| before.contains(name)) {
                return Err(Error::invalid(format!("field '{name}' is listed twice; name it once")));
            }
        }
        names.iter().map(|name| Self::named(schema, name)).collect()
    }

    /// Size of a cell in bytes; `None` if it varies.
    pub fn cell_bytes(&self) -> Option<usize> {
        self.cell.cell_bytes(self.datatype)
    }

    /// Bytes that a cell takes in a column, excluding the data of variable-length cells.
    pub fn row_bytes(&self) -> u64 {
        self.cell_bytes().unwrap_or(8) as u64 + u64::from(self.nullable)
    }

    /// Whether the cells are coordinates.
    pub const fn is_dimension(&self) -> bool {
        matches!(self.id, Some(FieldId::Dimension(_)))
    }

    /// The index of the attribute; `None` for other fields.
    pub const fn attribute_index(&self) -> Option<usize> {
        match self.id {
            Some(FieldId::Attribute(i)) => Some(i),
            _ => None,
        }
    }

    /// The index of the dimension; `None` for other fields.
    pub const fn dimension_index(&self) -> Option<usize> {
        match self.id {
            Some(FieldId::Dimension(i)) => Some(i),
            _ => None,
        }
    }

    /// A column without cells.
    pub fn empty_column(&self) -> Column {
        Column::empty(self.datatype, self.cell, self.nullable)
    }

    /// A column with one cell that was never written.
    pub(crate) fn fill_column(&self) -> Column {
        Column {
            data: self.fill.clone(),
            offsets: self.cell.is_var().then(|| vec![0, self.fill.len() as u64]),
            validity: self.nullable.then(|| vec![u8::from(self.fill_valid)]),
            ..self.empty_column()
        }
    }
}

/// The type of the cells of a field as a fragment with this schema stores them, and whether they may be null.
pub(crate) fn stored_type(schema: &Schema, id: FieldId) -> Option<(Datatype, CellCount, bool)> {
    Some(match id {
        FieldId::Attribute(i) => schema.attributes.get(i).map(|a| (a.datatype, a.cell, a.nullable))?,
        FieldId::Dimension(i) => schema.dimensions.get(i).map(|d| (d.datatype, d.cell, false))?,
        FieldId::Coords => {
            let dims = u32::try_from(schema.dimensions.len()).ok()?;
            (schema.dimensions.first()?.datatype, CellCount::Fixed(dims), false)
        }
        FieldId::Timestamps | FieldId::DeleteTimestamps | FieldId::DeleteConditions => {
            (Datatype::Uint64, CellCount::ONE, false)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::schema::ArrayType;

    #[test]
    fn sparse_arrays_return_their_coordinates_by_default() {
        let attribute = Attribute::new("a", Datatype::Int32, CellCount::ONE);
        let names = |array_type, wanted: Option<&[String]>| {
            let schema = Schema::new(
                array_type,
                vec![Dimension::new("d", Datatype::Int32, 0, 9, 5)],
                vec![attribute.clone()],
            );
            let fields = Field::resolve(&schema, wanted).map_err(|e| e.to_string())?;
            Ok::<_, String>(fields.into_iter().map(|f| f.name).collect::<Vec<_>>())
        };
        assert_eq!(names(ArrayType::Sparse, None).unwrap(), ["d", "a"]);
        assert_eq!(names(ArrayType::Dense, None).unwrap(), ["a"]);
        assert_eq!(
            names(ArrayType::Dense, Some(&["a".into(), "d".into()])).unwrap(),
            ["a", "d"]
        );
        assert!(
            names(ArrayType::Dense, Some(&["b".into()]))
                .unwrap_err()
                .contains("the fields are d, a")
        );
        assert!(
            names(ArrayType::Dense, Some(&["a".into(), "a".into()]))
                .unwrap_err()
                .contains("twice")
        );
    }
}
