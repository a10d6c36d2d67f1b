//! A field as one fragment stores it: its files, its type and its filters.

use std::sync::Arc;

use crate::array::Fragment;
use crate::array::fragment::FieldFiles;
use crate::datatype::{CellCount, Datatype};
use crate::filter::{Key, TileFormat};
use crate::format::field::stored_type;
use crate::format::fragment::slots::FieldId;
use crate::format::pipeline::Pipeline;
use crate::format::schema::Schema;

/// A field as stored in one fragment.
#[derive(Debug, Clone)]
pub(crate) struct StoredField {
    pub(crate) fragment: Arc<Fragment>,
    pub(crate) id: FieldId,
    pub(super) slot: usize,
    pub(crate) datatype: Datatype,
    pub(crate) cell: CellCount,
    pub(crate) nullable: bool,
    pub(super) files: Arc<FieldFiles>,
}

impl StoredField {
    /// The field `id` of `fragment`, if the fragment has it.
    pub(crate) fn new(fragment: &Arc<Fragment>, id: FieldId) -> Option<Self> {
        let slot = fragment.slots.index(id)?;
        let (datatype, cell, nullable) = stored_type(&fragment.schema, id)?;
        Some(Self {
            files: fragment.files(id, slot, cell, nullable),
            fragment: Arc::clone(fragment),
            id,
            slot,
            datatype,
            cell,
            nullable,
        })
    }

    /// The attribute of `fragment` with this name, if its size matches the given type. If an attribute was dropped and
    /// added again with another type of the same size, its cells are read as the new type, as in libtiledb.
    pub(crate) fn of_attribute(
        fragment: &Arc<Fragment>,
        name: &str,
        datatype: Datatype,
        cell: CellCount,
    ) -> Option<Self> {
        let own = Self::new(fragment, fragment.attribute(name)?)?;
        (own.datatype.size() == datatype.size() && own.cell == cell).then_some(own)
    }

    pub(super) fn pipeline<'a>(&self, schema: &'a Schema, name_of: &Schema) -> Option<&'a Pipeline> {
        match self.id {
            // Releases 2.6 and 2.7 may have given two attributes the same name.
            FieldId::Attribute(i) if std::ptr::eq(schema, name_of) => schema.attributes.get(i).map(|a| &a.filters),
            FieldId::Attribute(i) => {
                let name = &name_of.attributes.get(i)?.name;
                schema.attribute(name).map(|(_, a)| &a.filters)
            }
            // If the schema predates separate dimension files, releases 2.0 to 2.16 wrote such files with the
            // coordinate filters. Later releases wrote them unfiltered, and misread the earlier files.
            FieldId::Dimension(_) if !schema.version.has_dimension_files() => Some(&schema.coords_filters),
            FieldId::Dimension(i) => schema.dimensions.get(i).map(|d| schema.dimension_filters(d)),
            _ => Some(&schema.coords_filters),
        }
    }

    /// The filters to try if the fragment's own schema fails.
    pub(super) fn other_pipeline<'a>(&self, latest: &'a Schema, own: &'a Schema) -> Option<&'a Pipeline> {
        match self.id {
            FieldId::Dimension(i) if !own.version.has_dimension_files() => own.dimensions.get(i).map(|d| &d.filters),
            _ if std::ptr::eq(own, latest) => None,
            _ => self.pipeline(latest, own),
        }
    }

    /// Its slot in the fragment's index.
    pub(crate) const fn slot(&self) -> usize {
        self.slot
    }

    /// The path of its first file.
    pub(crate) fn path(&self) -> &str {
        &self.files.fixed
    }

    pub(super) fn format<'a>(&self, key: Option<&'a Key>) -> TileFormat<'a> {
        let fragment = &*self.fragment;
        let writer = fragment.index.writer();
        let (datatype, cell) = match self.id {
            FieldId::Timestamps | FieldId::DeleteTimestamps | FieldId::DeleteConditions => {
                fragment.schema.times_as(writer)
            }
            FieldId::Attribute(_) | FieldId::Dimension(_) | FieldId::Coords => (self.datatype, self.cell),
        };
        TileFormat {
            datatype,
            cell,
            version: fragment.version,
            writer,
            key,
        }
    }

    /// Unfiltered size of all its variable-length cells in bytes, as far as its index is loaded.
    pub(crate) fn var_bytes_total(&self) -> u64 {
        self.fragment.index.var_bytes_total(self.slot)
    }
}
