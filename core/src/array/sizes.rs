//! How much the cells of an array take before filters.

use std::sync::Arc;

use super::index::Section;
use super::sections::load_all;
use super::{Array, Fragment};
use crate::error::Result;
use crate::format::fragment::slots::FieldId;

impl Array {
    /// Bytes of all cells of all fragments before filters: of their values, the starts of variable-length ones,
    /// validity, and in sparse fragments coordinates. Where cells are of variable length, a section of each
    /// fragment's metadata is read.
    ///
    /// # Errors
    /// A metadata file cannot be read, or is damaged.
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
    /// The attributes and, where they are stored, the dimensions: how long their cells are, and whether they have
    /// validity.
    fn valued_fields(&self) -> impl Iterator<Item = (FieldId, Option<usize>, bool)> {
        let attributes = self.schema.attributes.iter().enumerate();
        let attributes = attributes.map(|(i, a)| (FieldId::Attribute(i), a.cell.cell_bytes(a.datatype), a.nullable));
        let stored = if self.dense { 0 } else { self.schema.dimensions.len() };
        let dimensions = self.schema.dimensions.iter().take(stored).enumerate();
        attributes.chain(dimensions.map(|(i, d)| (FieldId::Dimension(i), d.cell.cell_bytes(d.datatype), false)))
    }

    /// The sections that say how much the cells of variable length take.
    fn var_sections(&self) -> Vec<Section> {
        let var = self.valued_fields().filter(|(_, bytes, _)| bytes.is_none());
        var.filter_map(|(id, ..)| self.slots.index(id))
            .map(Section::VarSizes)
            .collect()
    }

    /// As [`Array::unfiltered_bytes`], with the sizes of variable-length cells as far as they are loaded.
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
