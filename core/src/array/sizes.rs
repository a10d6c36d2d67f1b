//! The unfiltered size of an array.

use std::sync::Arc;

use super::index::Section;
use super::sections::load_all;
use super::{Array, Fragment};
use crate::error::Result;
use crate::format::fragment::slots::FieldId;

impl Array {
    /// Total unfiltered size of the cells of all fragments in bytes: values, offsets, validity, and the coordinates of
    /// sparse fragments. For variable-length fields, reads a section of each fragment's metadata.
    ///
    /// # Errors
    /// A metadata file cannot be read or is damaged.
    pub async fn unfiltered_bytes(&self) -> Result<u64> {
        let wanted: Vec<(Arc<Fragment>, Vec<Section>)> = self
            .fragments()
            .iter()
            .map(|f| (Arc::clone(f), f.var_sections()))
            .filter(|(_, sections)| !sections.is_empty())
            .collect();
        load_all(self, &wanted).await?;
        let sum = |n: u64, f: &Arc<Fragment>| n.saturating_add(f.unfiltered_bytes());
        Ok(self.fragments().iter().fold(0, sum))
    }
}

impl Fragment {
    /// The attributes and, if stored, the dimensions. For each: the size of a cell, or `None` for variable length, and
    /// whether it is nullable.
    fn valued_fields(&self) -> impl Iterator<Item = (FieldId, Option<usize>, bool)> {
        let attributes = self.schema.attributes.iter().enumerate();
        let attributes = attributes.map(|(i, a)| (FieldId::Attribute(i), a.cell.cell_bytes(a.datatype), a.nullable));
        let stored = if self.dense { 0 } else { self.schema.dimensions.len() };
        let dimensions = self.schema.dimensions.iter().take(stored).enumerate();
        attributes.chain(dimensions.map(|(i, d)| (FieldId::Dimension(i), d.cell.cell_bytes(d.datatype), false)))
    }

    /// The sections with the sizes of variable-length tiles.
    fn var_sections(&self) -> Vec<Section> {
        let var = self.valued_fields().filter(|(_, bytes, _)| bytes.is_none());
        var.filter_map(|(id, ..)| self.slots.index(id))
            .map(Section::VarSizes)
            .collect()
    }

    /// Same as [`Array::unfiltered_bytes`], for this fragment. Variable-length sizes must be loaded; otherwise they
    /// count as 0.
    fn unfiltered_bytes(&self) -> u64 {
        let field = |(id, bytes, nullable): (FieldId, Option<usize>, bool)| {
            let var = self.slots.index(id).filter(|_| bytes.is_none());
            let each = bytes.unwrap_or(size_of::<u64>()) as u64 + u64::from(nullable);
            let cells = self.cells.saturating_mul(each);
            cells.saturating_add(var.map_or(0, |slot| self.index.var_bytes_total(slot)))
        };
        self.valued_fields().map(field).fold(0, u64::saturating_add)
    }
}
