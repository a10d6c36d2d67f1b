//! Resolves the field names of a query to attributes and dimensions of the schema.

use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::schema::Schema;
use crate::suggest;

/// A field of a result. Its types come from the latest schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: FieldKind,
    pub(crate) datatype: Datatype,
    pub(crate) cell: CellCount,
    pub(crate) nullable: bool,
    /// The value of cells that were never written.
    pub(crate) fill: Vec<u8>,
    /// Whether the fill value is a value; false if it is null.
    pub(crate) fill_valid: bool,
}

/// The kind of a field, with its index in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Attribute(usize),
    Dimension(usize),
}

impl Field {
    /// Finds the field with this name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such field. The message lists the schema's fields.
    pub(crate) fn named(schema: &Schema, name: &str) -> Result<Self> {
        if let Some((i, _)) = schema.attribute(name) {
            return Ok(Self::attribute(schema, i));
        }
        if let Some((i, d)) = schema.dimension(name) {
            return Ok(Self {
                name: d.name.clone(),
                kind: FieldKind::Dimension(i),
                datatype: d.datatype,
                cell: d.cell,
                nullable: false,
                fill: d.datatype.default_fill(),
                fill_valid: true,
            });
        }
        let names = schema
            .dimensions
            .iter()
            .map(|d| &d.name)
            .chain(schema.attributes.iter().map(|a| &a.name));
        let names: Vec<&str> = names.map(String::as_str).collect();
        Err(Error::invalid(suggest::unknown("field", name, &names)))
    }

    fn attribute(schema: &Schema, i: usize) -> Self {
        let a = &schema.attributes[i];
        Self {
            name: a.name.clone(),
            kind: FieldKind::Attribute(i),
            datatype: a.datatype,
            cell: a.cell,
            nullable: a.nullable,
            fill: a.fill.clone(),
            fill_valid: a.fill_valid,
        }
    }

    /// Resolves field names. `None` selects every attribute, preceded by every dimension if the array is sparse.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a name does not exist or is listed twice.
    pub(crate) fn resolve(schema: &Schema, names: Option<&[String]>) -> Result<Vec<Self>> {
        let all = || {
            let dims = schema.dimensions.iter().filter(|_| !schema.is_dense()).map(|d| &d.name);
            dims.chain(schema.attributes.iter().map(|a| &a.name)).cloned().collect()
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
    pub(crate) fn width(&self) -> Option<usize> {
        self.cell.cell_bytes(self.datatype)
    }

    /// Bytes that a cell takes in a result, excluding the data of variable-length cells.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.width().unwrap_or(8) as u64 + u64::from(self.nullable)
    }

    /// Creates a column without cells.
    pub(crate) fn empty_column(&self) -> Column {
        Column::empty(self.datatype, self.cell, self.nullable)
    }

    /// Creates a column without cells that reuses the memory of `old`.
    pub(crate) fn empty_column_in(&self, old: Column) -> Column {
        let reused = |(new, mut old): (Vec<u64>, Vec<u64>)| {
            old.clear();
            old.extend(new);
            old
        };
        let mut column = self.empty_column();
        column.data = old.data;
        column.data.clear();
        column.offsets = column.offsets.map(|new| reused((new, old.offsets.unwrap_or_default())));
        column.validity = column.validity.map(|_| {
            let mut validity = old.validity.unwrap_or_default();
            validity.clear();
            validity
        });
        column
    }

    /// The index of the attribute; `None` for dimensions.
    pub(crate) fn attribute_index(&self) -> Option<usize> {
        if let FieldKind::Attribute(i) = self.kind {
            Some(i)
        } else {
            None
        }
    }

    /// The index of the dimension; `None` for attributes.
    pub(crate) fn dimension_index(&self) -> Option<usize> {
        if let FieldKind::Dimension(i) = self.kind {
            Some(i)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Attribute};

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
