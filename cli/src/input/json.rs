//! Reads JSON objects as the rows of a table: one object a line, a list of objects, or the features of a GeoJSON file.
//! The keys are the columns, in the order in which they appear. Lists and objects within a row are kept as JSON text.

mod members;
mod objects;

use std::collections::{HashMap, HashSet};
use std::io::Read;

use anyhow::{Context as _, Result, bail, ensure};

use super::encoding;
use super::geojson;
use super::sheet::Row;
use members::Value;
use objects::Objects;

pub(super) use members::{Value as JsonValue, members};

/// Reads rows.
pub(super) struct Reader<'a> {
    objects: Objects<'a>,
    /// Whether the objects are features of GeoJSON.
    features: bool,
    /// The column of each key.
    columns: HashMap<String, usize>,
    /// Whether new keys become columns.
    open_ended: bool,
    /// Keys whose values are lists or objects, as far as the file was read.
    nested: Vec<String>,
    nested_columns: HashSet<usize>,
    text: Vec<u8>,
}

/// The kinds of JSON files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rows,
    Features,
}

impl<'a> Reader<'a> {
    /// Opens a file. Without `names`, the keys of all objects become columns.
    pub(super) fn open(input: impl Read + 'a, kind: Kind, names: Option<&[String]>) -> Result<Self> {
        let source = encoding::decoded(input)?;
        let objects = match kind {
            Kind::Rows => Objects::new(source),
            Kind::Features => Objects::in_member(source, "features", geojson::check_member)?,
        };
        let columns = names.unwrap_or_default().iter().cloned().zip(0..);
        Ok(Self {
            objects,
            features: kind == Kind::Features,
            columns: columns.collect(),
            open_ended: names.is_none(),
            nested: Vec::new(),
            nested_columns: HashSet::new(),
            text: Vec::new(),
        })
    }

    /// The keys whose values are lists or objects, as far as the file was read.
    pub(super) fn nested(&self) -> &[String] {
        &self.nested
    }

    /// Reads the next row; false at the end. Adds new keys to `names`.
    pub(super) fn row(&mut self, names: &mut Vec<String>, row: &mut Row) -> Result<bool> {
        let Some(line) = self.objects.next(&mut self.text)? else {
            return Ok(false);
        };
        row.clear(line);
        let found = members(&self.text).and_then(|found| match self.features {
            true => geojson::feature(found),
            false => Ok(found),
        });
        let found = found.with_context(|| format!("line {line}"))?;
        let mut values: Vec<Option<Value>> = Vec::new();
        values.resize_with(names.len(), || None);
        for (key, value) in found {
            let column = match self.columns.get(&key) {
                Some(column) => *column,
                None if self.open_ended => {
                    let column = names.len();
                    names.push(key.clone());
                    self.columns.insert(key.clone(), column);
                    values.push(None);
                    column
                }
                None => bail!("line {line} has the key '{key}', which it did not have before; the file has changed"),
            };
            if matches!(value, Value::Nested(_)) && self.nested_columns.insert(column) {
                self.nested.push(key.clone());
            }
            if let Some(slot) = values.get_mut(column) {
                ensure!(slot.is_none(), "line {line}: the object has the key '{key}' twice");
                *slot = Some(value);
            }
        }
        for value in values {
            let quoted = matches!(value, Some(Value::Text(_)));
            match value {
                Some(Value::Text(text) | Value::Bare(text) | Value::Nested(text)) => row.text.extend(text.into_bytes()),
                Some(Value::Null) | None => {}
            }
            row.ends.push((row.text.len(), quoted));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rows = Vec<Vec<Option<String>>>;

    fn read(text: &str, kind: Kind) -> Result<(Vec<String>, Rows)> {
        let mut reader = Reader::open(text.as_bytes(), kind, None)?;
        let (mut names, mut row, mut rows) = (Vec::new(), Row::default(), Vec::new());
        while reader.row(&mut names, &mut row)? {
            let text = |v: Option<&[u8]>| v.map(|v| String::from_utf8_lossy(v).into_owned());
            rows.push(row.values().map(text).collect());
        }
        Ok((names, rows))
    }

    #[test]
    fn keys_are_columns_and_numbers_keep_their_digits() {
        let text = "{\"a\":1.10,\"b\":\"x\\n\\u00e4\"}\n\n{\"b\":\"\",\"c\":[1, 2],\"a\":null}\n{\"a\":18446744073709551616,\"d\":true}";
        let (names, rows) = read(text, Kind::Rows).unwrap();
        assert_eq!(names, ["a", "b", "c", "d"]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows,
            [
                vec![some("1.10"), some("x\nä")],
                vec![None, some(""), some("[1, 2]")],
                vec![some("18446744073709551616"), None, None, some("true")]
            ]
        );
    }

    #[test]
    fn invalid_objects_name_their_line() {
        let error = |text: &str| format!("{:#}", read(text, Kind::Rows).unwrap_err());
        assert!(
            error("{\"a\":1}\n{\"a\":01}").starts_with("line 2"),
            "{}",
            error("{\"a\":1}\n{\"a\":01}")
        );
        assert!(error("{\"a\":1}\n{\"a\" 1}").starts_with("line 2"));
        assert!(error("{\"a\":1,\"a\":2}").contains("'a' twice"));
        // Depth takes no stack.
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        read(&deep, Kind::Rows).unwrap();
    }
}
