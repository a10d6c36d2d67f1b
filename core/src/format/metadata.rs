//! Array and group metadata: keys and values, as stored in the files of `__meta`.
//!
//! ```text
//! per entry, until the end of the payload: key str32 | deleted u8 | unless deleted: datatype u8 | count u32 | values
//! ```

use std::collections::BTreeMap;

use super::cursor::{Decoded, Reader, Writer};
use crate::datatype::Datatype;
use crate::escape;
use crate::scalar::Scalar;

/// A key with its value, or the deletion of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key. Bytes that are not UTF-8 are escapes such as `\xff`.
    pub key: String,
    /// The value; `None` deletes the key.
    pub value: Option<MetaValue>,
}

/// Any number of values of one datatype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaValue {
    /// The type of each value.
    pub datatype: Datatype,
    /// Number of values, not bytes; 0 for an empty value.
    pub num: u32,
    /// The values, in little-endian byte order.
    pub data: Vec<u8>,
}

/// The keys under which TileDB-Py stores a numpy array for `key`: its flattened values and its shape. One-dimensional
/// arrays have no shape key.
pub fn numpy_keys(key: &str) -> [String; 2] {
    ["__np_flat_", "__np_shape_"].map(|prefix| format!("{prefix}{key}"))
}

/// The "no data" values of an attribute, as declared in the metadata of its array. Reads the keys `nodata`,
/// `missing_value` and `_FillValue`, both for the whole array and with the prefix `__tiledb_attr.NAME.` for the
/// attribute.
pub fn nodata(metadata: &BTreeMap<String, MetaValue>, attribute: &str) -> Vec<f64> {
    let of_attribute = format!("__tiledb_attr.{attribute}.");
    let keys = ["nodata", "missing_value", "_FillValue"];
    let keys = keys
        .iter()
        .flat_map(|key| [(*key).to_owned(), format!("{of_attribute}{key}")]);
    let keys = keys.flat_map(|key| {
        let [numpy, _] = numpy_keys(&key);
        [key, numpy]
    });
    let mut found: Vec<f64> = keys
        .filter_map(|key| metadata.get(&key))
        .flat_map(MetaValue::numbers)
        .collect();
    found.sort_by(f64::total_cmp);
    found.dedup();
    found
}

impl MetaValue {
    /// The values as numbers; a string counts if it is a number. Empty if they are not numeric.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        if self.datatype.is_string() {
            let text = String::from_utf8_lossy(&self.data);
            return text
                .trim()
                .parse()
                .ok()
                .into_iter()
                .filter(|v: &f64| !v.is_nan())
                .collect();
        }
        if !self.datatype.is_integer() && !self.datatype.is_float() {
            return Vec::new();
        }
        let values = self.data.chunks_exact(self.datatype.size());
        let values = values.filter_map(|bytes| Scalar::from_le_bytes(self.datatype.physical(), bytes)?.as_f64());
        values.filter(|v| !v.is_nan()).collect()
    }

    /// A UTF-8 string value.
    pub fn text(text: &str) -> Self {
        Self::bytes(Datatype::StringUtf8, text.as_bytes())
    }

    /// Values of `datatype` from their little-endian bytes. Trailing bytes that are not a whole value are dropped.
    pub fn bytes(datatype: Datatype, data: &[u8]) -> Self {
        let num = data.len() / datatype.size();
        let data = data.get(..num * datatype.size()).unwrap_or(&[]).to_vec();
        Self {
            datatype,
            num: u32::try_from(num).unwrap_or(u32::MAX),
            data,
        }
    }
}

/// Decodes the payload of a file in `__meta`.
///
/// # Errors
/// The payload is damaged.
pub fn decode(payload: &[u8]) -> Decoded<Vec<Entry>> {
    let mut r = Reader::new(payload);
    let mut entries = Vec::new();
    while !r.is_done() {
        let key = escape::key(r.bytes32("metadata key")?);
        let value = if r.bool("metadata deleted flag")? {
            None
        } else {
            Some(MetaValue::decode(&mut r)?)
        };
        entries.push(Entry { key, value });
    }
    Ok(entries)
}

/// Encodes the payload of these entries, sorted by key like libtiledb.
pub fn encode(entries: &[Entry]) -> Vec<u8> {
    let sorted: BTreeMap<_, _> = entries.iter().map(|e| (escape::key_bytes(&e.key), &e.value)).collect();
    let mut w = Writer::new();
    for (key, value) in sorted {
        w.bytes32(&key).bool(value.is_none());
        if let Some(v) = value {
            w.u8(v.datatype.id()).u32(v.num).put(&v.data);
        }
    }
    w.into_bytes()
}

impl MetaValue {
    fn decode(r: &mut Reader<'_>) -> Decoded<Self> {
        let at = r.offset();
        let datatype = Datatype::from_id(r.u8("metadata datatype")?).map_err(|m| m.shifted(at))?;
        let num = r.u32("metadata value count")?;
        let data = r
            .take_u64(u64::from(num) * datatype.size() as u64, "metadata value")?
            .to_vec();
        Ok(Self { datatype, num, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_in_values_and_keys_are_sorted() {
        let entries = [
            Entry {
                key: "b".into(),
                value: None,
            },
            Entry {
                key: "a".into(),
                value: Some(MetaValue::bytes(Datatype::Int32, &7_i32.to_le_bytes())),
            },
        ];
        let bytes = encode(&entries);
        assert_eq!(bytes, b"\x01\0\0\0a\x00\x00\x01\0\0\0\x07\0\0\0\x01\0\0\0b\x01");
        let back = decode(&bytes).unwrap();
        assert_eq!(back, [entries[1].clone(), entries[0].clone()]);
    }

    #[test]
    fn empty_values_round_trip() {
        let entries = [Entry {
            key: String::new(),
            value: Some(MetaValue::text("")),
        }];
        assert_eq!(decode(&encode(&entries)).unwrap(), entries);
    }

    #[test]
    fn keys_that_are_not_utf8_stay_distinct() {
        let entry = |key: &str| Entry {
            key: key.into(),
            value: None,
        };
        let bytes = b"\x01\0\0\0\xfe\x01\x01\0\0\0\xff\x01";
        let entries = decode(bytes).unwrap();
        assert_eq!(entries, [entry("\\xfe"), entry("\\xff")]);
        assert_eq!(encode(&entries), bytes);
    }

    #[test]
    fn a_value_longer_than_the_file_is_an_error() {
        let e = decode(b"\x01\0\0\0a\x00\x0a\xff\xff\xff\xff").unwrap_err();
        assert_eq!(
            e.to_string(),
            "metadata value at byte 11: needs 34359738360 bytes, 0 are left"
        );
    }
}
