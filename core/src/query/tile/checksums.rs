//! Finds stored data without a checksum.

use super::StoredField;
use crate::filter::{Key, codes_strings};
use crate::format::attribute::display_name;
use crate::format::fragment::slots::FieldId;
use crate::format::schema::Schema;

impl StoredField {
    /// Names the stored parts of the field that no checksum covers, such as `temp` or `offsets of name`. Returns `None`
    /// if decoding detects damage to any of its bytes.
    pub(crate) fn without_checksum(&self, key: Option<&Key>) -> Option<String> {
        let schema = &*self.fragment.schema;
        let filters = self.pipeline(schema, schema)?;
        if key.is_some() {
            return None;
        }
        let name = self.name(schema);
        if !filters.has_checksum() {
            return Some(name);
        }
        let coded = codes_strings(filters, &self.format(key));
        let offsets = self.cell.is_var() && !coded && !schema.offsets_filters.has_checksum();
        let validity = self.nullable && !schema.validity_filters.has_checksum();
        match (offsets, validity) {
            (true, true) => Some(format!("offsets and validity of {name}")),
            (true, false) => Some(format!("offsets of {name}")),
            (false, true) => Some(format!("validity of {name}")),
            (false, false) => None,
        }
    }

    /// The display name of the field.
    fn name(&self, schema: &Schema) -> String {
        let named = match self.id {
            FieldId::Attribute(i) => schema.attributes.get(i).map(|a| &a.name),
            FieldId::Dimension(i) => schema.dimensions.get(i).map(|d| &d.name),
            FieldId::Coords => return "coordinates".to_owned(),
            FieldId::Timestamps => return "timestamps".to_owned(),
            FieldId::DeleteTimestamps | FieldId::DeleteConditions => return "deletes".to_owned(),
        };
        display_name(named.map_or("", String::as_str)).to_owned()
    }
}
