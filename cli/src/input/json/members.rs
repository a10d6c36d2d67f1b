//! The members of one JSON object, with the text of numbers as it was written.

use std::fmt;

use anyhow::Result;
use serde::de::{Deserializer as _, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Keys and values in the order of the text.
pub(in crate::input) type Members = Vec<(String, Value)>;

/// A value as a cell of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::input) enum Value {
    Null,
    /// A number, true or false.
    Bare(String),
    Text(String),
    /// A list or an object, as JSON.
    Nested(String),
}

impl Value {
    fn of(raw: &RawValue) -> Result<Self> {
        let text = raw.get();
        Ok(match text.bytes().next() {
            Some(b'n') => Self::Null,
            Some(b'"') => Self::Text(serde_json::from_str(text)?),
            Some(b'{' | b'[') => Self::Nested(text.to_owned()),
            _ => Self::Bare(text.to_owned()),
        })
    }
}

/// Parses the text of an object.
pub(in crate::input) fn members(text: &[u8]) -> Result<Members> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let raw = json.deserialize_map(Pairs)?;
    json.end()?;
    raw.into_iter()
        .map(|(key, value)| Ok((key, Value::of(value)?)))
        .collect()
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if pairs.len() >= crate::input::sheet::COLUMNS_MAX {
                return Err(A::Error::custom("an object has too many keys"));
            }
            pairs.push((key, map.next_value::<&RawValue>()?));
        }
        Ok(pairs)
    }
}
