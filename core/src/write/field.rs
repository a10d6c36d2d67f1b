//! The fields of a fragment being written, in the order of their slots.

use super::buffer_pool::BufferPool;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::filter::{Key, Nonces, TileFormat};
use crate::format::fragment::slots::FieldId;
use crate::format::pipeline::Pipeline;
use crate::format::schema::{ArrayType, Schema};
use crate::format::version::Version;
use crate::suggest;

/// One field: the type of its cells and the filters of its tiles.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) id: FieldId,
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) cell: CellCount,
    pub(crate) nullable: bool,
    pub(crate) filters: Pipeline,
    /// The type the filters treat the cells as.
    pub(crate) filtered_as: (Datatype, CellCount),
}

/// Names of the fields that only consolidated fragments have.
pub(crate) const TIMESTAMPS: &str = "__timestamps";
pub(crate) const DELETE_TIMESTAMPS: &str = "__delete_timestamps";
pub(crate) const DELETE_CONDITIONS: &str = "__delete_condition_index";

/// Everything that packing needs apart from the cells.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) list: Vec<Field>,
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
        let attributes = schema.attributes.iter().enumerate().map(|(i, a)| Field {
            id: FieldId::Attribute(i),
            name: a.name.clone(),
            datatype: a.datatype,
            cell: a.cell,
            nullable: a.nullable,
            filters: a.filters.clone(),
            filtered_as: (a.datatype, a.cell),
        });
        let stored = if kind == ArrayType::Dense {
            0
        } else {
            schema.dimensions.len()
        };
        let dimensions = schema.dimensions.iter().take(stored).enumerate().map(|(i, d)| Field {
            id: FieldId::Dimension(i),
            name: d.name.clone(),
            datatype: d.datatype,
            cell: d.cell,
            nullable: false,
            filters: schema.dimension_filters(d).clone(),
            filtered_as: (d.datatype, d.cell),
        });
        let special = special.iter().map(|&id| Field {
            id,
            name: match id {
                FieldId::DeleteTimestamps => DELETE_TIMESTAMPS,
                FieldId::DeleteConditions => DELETE_CONDITIONS,
                _ => TIMESTAMPS,
            }
            .to_owned(),
            datatype: Datatype::Uint64,
            cell: CellCount::ONE,
            nullable: false,
            filters: schema.coords_filters.clone(),
            filtered_as: schema.times_as(Version::CURRENT),
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
    pub(crate) fn format_of(&self, field: &Field) -> TileFormat<'_> {
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
            let Some(i) = self.list.iter().position(|f| f.name == name) else {
                let known: Vec<&str> = self.list.iter().map(|f| f.name.as_str()).collect();
                return Err(Error::invalid(suggest::unknown("field", &name, &known)));
            };
            if found[i].replace(column).is_some() {
                return Err(Error::invalid(format!("field '{name}' is given twice")));
            }
        }
        let mut out: Vec<Column> = Vec::with_capacity(found.len());
        for (field, column) in self.list.iter().zip(found) {
            let column = column.ok_or_else(|| {
                Error::invalid(format!(
                    "field '{}' is missing; a write needs all of {}",
                    field.name,
                    self.names()
                ))
            })?;
            let column = field.check(column)?;
            if let Some(first) = out.first().filter(|first| first.len() != column.len()) {
                return Err(Error::invalid(format!(
                    "field '{}' has {} cells, field '{}' has {}",
                    field.name,
                    column.len(),
                    self.list[0].name,
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
            .map(|f| format!("'{}'", f.name))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl Field {
    /// Bytes of a cell; `None` for variable-length cells.
    pub(crate) fn cell_bytes(&self) -> Option<usize> {
        self.cell.cell_bytes(self.datatype)
    }

    /// Checks that the column fits the field. A column without validity has no nulls.
    fn check(&self, mut column: Column) -> Result<Column> {
        let name = &self.name;
        if (column.datatype, column.cell) != (self.datatype, self.cell) {
            return Err(Error::invalid(format!(
                "field '{name}' is {} with {} a cell, but the column is {} with {}; convert the column",
                self.datatype, self.cell, column.datatype, column.cell
            )));
        }
        column.check(name)?;
        match (&column.validity, self.nullable) {
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
}
