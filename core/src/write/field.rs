//! The fields of a fragment being written, in the order of their slots.

use super::buffer_pool::BufferPool;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::filter::{Key, Nonces, TileFormat};
use crate::format::field::Field;
use crate::format::fragment::slots::FieldId;
use crate::format::pipeline::Pipeline;
use crate::format::schema::{ArrayType, Schema};
use crate::format::version::Version;
use crate::suggest;

/// A field of the fragment, and the filters of its tiles.
#[derive(Debug, Clone)]
pub(crate) struct WrittenField {
    pub(crate) id: FieldId,
    pub(crate) field: Field,
    pub(crate) filters: Pipeline,
    /// The type the filters treat the cells as.
    pub(crate) filtered_as: (Datatype, CellCount),
}

/// Everything that packing needs apart from the cells.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) list: Vec<WrittenField>,
    pub(crate) version: Version,
    pub(crate) offsets_filters: Pipeline,
    pub(crate) validity_filters: Pipeline,
    pub(crate) key: Option<Key>,
    pub(crate) nonces: Nonces,
    pub(crate) spare: BufferPool,
}

impl Fields {
    /// The fields of a fragment of `version` written with `schema`. `special` lists the fields of consolidated
    /// fragments. Sparse fragments store coordinates, also in dense arrays.
    pub(crate) fn new(
        schema: &Schema,
        kind: ArrayType,
        version: Version,
        special: &[FieldId],
        key: Option<&Key>,
        seed: [u8; 32],
    ) -> Self {
        let written = |field: Field, id, filters: &Pipeline| WrittenField {
            id,
            filtered_as: (field.datatype, field.cell),
            field,
            filters: filters.clone(),
        };
        let attributes = schema.attributes.iter().enumerate();
        let attributes = attributes.map(|(i, a)| written(Field::attribute(a, i), FieldId::Attribute(i), &a.filters));
        let stored = if kind == ArrayType::Dense {
            0
        } else {
            schema.dimensions.len()
        };
        let dimensions = schema.dimensions.iter().take(stored).enumerate().map(|(i, d)| {
            let filters = schema.dimension_filters(d);
            written(Field::dimension(d, i), FieldId::Dimension(i), filters)
        });
        let special = special.iter().map(|&id| {
            let filtered_as = schema.times_as(Version::CURRENT);
            WrittenField {
                filtered_as,
                ..written(Field::special(id), id, &schema.coords_filters)
            }
        });
        Self {
            list: attributes.chain(dimensions).chain(special).collect(),
            version,
            offsets_filters: schema.offsets_filters.clone(),
            validity_filters: schema.validity_filters.clone(),
            key: key.cloned(),
            nonces: if key.is_some() {
                Nonces::new(seed)
            } else {
                Nonces::none()
            },
            spare: BufferPool::default(),
        }
    }

    /// The tile format for the filter pipeline of a field.
    pub(crate) fn format_of(&self, field: &WrittenField) -> TileFormat<'_> {
        self.format(field.filtered_as.0, field.filtered_as.1)
    }

    /// The tile format for a pipeline that filters values of this type.
    pub(crate) fn format(&self, datatype: Datatype, cell: CellCount) -> TileFormat<'_> {
        TileFormat {
            datatype,
            cell,
            version: self.version,
            writer: Version::CURRENT,
            key: self.key.as_ref(),
        }
    }

    /// Checks the columns and sorts them into the order of the fields. All must have the same number of cells, which is
    /// also returned.
    pub(crate) fn arrange(&self, columns: Vec<(String, Column)>) -> Result<(Vec<Column>, usize)> {
        let mut found: Vec<Option<Column>> = vec![None; self.list.len()];
        for (name, column) in columns {
            let Some(i) = self.list.iter().position(|f| f.field.name == name) else {
                let known: Vec<&str> = self.list.iter().map(|f| f.field.name.as_str()).collect();
                return Err(Error::invalid(suggest::unknown("field", &name, &known)));
            };
            if found[i].replace(column).is_some() {
                return Err(Error::invalid(format!("field '{name}' is given twice")));
            }
        }
        let mut out: Vec<Column> = Vec::with_capacity(found.len());
        for (WrittenField { field, .. }, column) in self.list.iter().zip(found) {
            let column = column.ok_or_else(|| {
                Error::invalid(format!(
                    "field '{}' is missing; a write needs all of {}",
                    field.name,
                    self.names()
                ))
            })?;
            let column = fitted(field, column)?;
            if let Some(first) = out.first().filter(|first| first.len() != column.len()) {
                return Err(Error::invalid(format!(
                    "field '{}' has {} cells, field '{}' has {}",
                    field.name,
                    column.len(),
                    self.list[0].field.name,
                    first.len()
                )));
            }
            out.push(column);
        }
        let cells = out.first().map_or(0, Column::len);
        Ok((out, cells))
    }

    fn names(&self) -> String {
        self.list
            .iter()
            .map(|f| format!("'{}'", f.field.name))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Checks that the column fits the field. A column without validity has no nulls.
fn fitted(field: &Field, mut column: Column) -> Result<Column> {
    let name = &field.name;
    if (column.datatype, column.cell) != (field.datatype, field.cell) {
        return Err(Error::invalid(format!(
            "field '{name}' is {} with {} a cell, but the column is {} with {}; convert the column",
            field.datatype, field.cell, column.datatype, column.cell
        )));
    }
    column.check(name)?;
    match (&column.validity, field.nullable) {
        (None, true) => column.validity = Some(vec![1; column.len()]),
        (Some(v), false) if v.contains(&0) => {
            return Err(Error::invalid(format!(
                "field '{name}' is not nullable, but the column has nulls; replace them with values"
            )));
        }
        (Some(_), false) => column.validity = None,
        (Some(v), true) if v.iter().any(|&b| b > 1) => {
            return Err(Error::invalid(format!("field '{name}': validity bytes must be 0 or 1")));
        }
        _ => {}
    }
    Ok(column)
}
