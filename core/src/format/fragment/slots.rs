//! Slots of the fields in the per-field lists of fragment metadata.
//!
//! ```text
//! attributes 0..A | __coords A | dimensions A+1..A+1+D | timestamps | delete timestamps | delete conditions
//! ```
//!
//! Before version 5 the lists end with `__coords`. Later versions keep the slot of `__coords`, unused.

use crate::format::schema::Schema;
use crate::format::version::Version;

/// A field of a fragment: anything with its own data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldId {
    /// The attribute with this index in the fragment's schema.
    Attribute(usize),
    /// All coordinates in one file. Only before version 5.
    Coords,
    /// The dimension with this index.
    Dimension(usize),
    /// The time when each cell was written.
    Timestamps,
    /// The time when each cell was deleted.
    DeleteTimestamps,
    /// The index of the processed condition that deleted each cell.
    DeleteConditions,
}

/// The slots of a fragment's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    attributes: usize,
    /// 0 if dimensions have no slots.
    dimensions: usize,
    timestamps: bool,
    deletes: bool,
    coords_in_var_lists: bool,
}

impl Slots {
    /// The slots in a fragment of this version, written with this schema.
    pub fn new(version: Version, schema: &Schema, has_timestamps: bool, has_delete_metadata: bool) -> Self {
        let own = version.has_dimension_files();
        Self {
            attributes: schema.attributes.len(),
            dimensions: if own { schema.dimensions.len() } else { 0 },
            timestamps: has_timestamps,
            deletes: has_delete_metadata,
            coords_in_var_lists: own,
        }
    }

    /// Length of the per-field lists.
    pub const fn len(&self) -> usize {
        self.attributes + 1 + self.dimensions + self.timestamps as usize + 2 * self.deletes as usize
    }

    /// Always false: there is always a slot for `__coords`.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Length of the lists about variable-length values.
    pub const fn var_len(&self) -> usize {
        if self.coords_in_var_lists {
            self.len()
        } else {
            self.attributes
        }
    }

    /// The slot of a field, if the fragment has that field.
    pub fn index(&self, field: FieldId) -> Option<usize> {
        let special = self.attributes + 1 + self.dimensions;
        match field {
            FieldId::Attribute(i) => (i < self.attributes).then_some(i),
            FieldId::Coords => Some(self.attributes),
            FieldId::Dimension(i) => (i < self.dimensions).then_some(self.attributes + 1 + i),
            FieldId::Timestamps => self.timestamps.then_some(special),
            FieldId::DeleteTimestamps => self.deletes.then_some(special + usize::from(self.timestamps)),
            FieldId::DeleteConditions => self.deletes.then_some(special + usize::from(self.timestamps) + 1),
        }
    }

    /// All fields, in slot order.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> + use<> {
        let Self {
            attributes,
            dimensions,
            timestamps,
            deletes,
            ..
        } = *self;
        (0..attributes)
            .map(FieldId::Attribute)
            .chain([FieldId::Coords])
            .chain((0..dimensions).map(FieldId::Dimension))
            .chain(timestamps.then_some(FieldId::Timestamps))
            .chain(deletes.then_some(FieldId::DeleteTimestamps))
            .chain(deletes.then_some(FieldId::DeleteConditions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::schema::{ArrayType, Attribute, Dimension};

    #[test]
    fn slots_follow_the_order_of_fields() {
        let attribute = |name| Attribute::new(name, Datatype::Int32, CellCount::ONE);
        let schema = Schema::new(
            ArrayType::Sparse,
            vec![Dimension::string("x")],
            vec![attribute("a"), attribute("b")],
        );
        let slots = Slots::new(Version::CURRENT, &schema, true, true);
        assert_eq!((slots.len(), slots.var_len()), (7, 7));
        for (i, field) in slots.fields().enumerate() {
            assert_eq!(slots.index(field), Some(i));
        }
        let old = Slots::new(Version::PLAIN_NAMES, &schema, false, false);
        assert_eq!(
            (old.len(), old.var_len(), old.index(FieldId::Dimension(0))),
            (3, 2, None)
        );
    }
}
