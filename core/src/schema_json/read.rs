//! JSON values with their path, so that every error names the entry it is about.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A JSON value with its path, such as `attributes[1].type`.
pub(super) struct Entry<'a> {
    pub(super) value: &'a Value,
    pub(super) at: String,
    /// Its index if it is an item of a list, otherwise 0.
    pub(super) index: usize,
}

impl<'a> Entry<'a> {
    /// An object whose entries must all be `known`.
    pub(super) fn object(value: &'a Value, at: &str, known: &[&str]) -> Result<Self> {
        let new = Self {
            value,
            at: at.to_owned(),
            index: 0,
        };
        new.known(known)?;
        Ok(new)
    }

    /// Checks that all entries are `known`.
    pub(super) fn known(&self, known: &[&str]) -> Result<()> {
        match self.map()?.keys().find(|k| !known.contains(&k.as_str())) {
            Some(other) => Err(Error::invalid(format!(
                "{}: unknown entry '{other}'; the entries are {}",
                self.at,
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    fn map(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    /// The entry with this key. `null` counts as missing.
    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.value.get(key).filter(|v| !v.is_null())?;
        Some(Entry {
            value,
            at: self.child(key),
            index: 0,
        })
    }

    /// The entry with this key, which is required.
    pub(super) fn need(&self, key: &str) -> Result<Entry<'a>> {
        self.get(key)
            .ok_or_else(|| Error::invalid(format!("{}: '{key}' is missing", self.at)))
    }

    fn child(&self, key: &str) -> String {
        if self.at == "schema" {
            key.to_owned()
        } else {
            format!("{}.{key}", self.at)
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<Vec<Entry<'a>>> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        Ok(items
            .iter()
            .enumerate()
            .map(|(index, value)| Entry {
                value,
                at: format!("{}[{index}]", self.at),
                index,
            })
            .collect())
    }

    /// Applies `read` to each item of the list with this key. A missing list counts as empty.
    pub(super) fn list<T>(&self, key: &str, read: impl Fn(&Entry<'a>) -> Result<T>) -> Result<Vec<T>> {
        self.get(key)
            .map_or(Ok(Vec::new()), |e| e.items()?.iter().map(read).collect())
    }

    pub(super) fn str(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a string"))
    }

    /// The string with this key; empty if missing.
    pub(super) fn string(&self, key: &str) -> Result<String> {
        self.get(key).map_or(Ok(String::new()), |e| e.str().map(str::to_owned))
    }

    /// The flag with this key; false if missing.
    pub(super) fn bool(&self, key: &str) -> Result<bool> {
        self.get(key)
            .map_or(Ok(false), |e| e.value.as_bool().ok_or_else(|| e.wrong("true or false")))
    }

    pub(super) fn u64(&self) -> Result<u64> {
        let text = self.value.as_str().and_then(|s| s.parse().ok());
        self.value
            .as_u64()
            .or(text)
            .ok_or_else(|| self.wrong("a whole number from 0"))
    }

    pub(super) fn f64(&self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| self.wrong("a number"))
    }

    /// An error that says what the entry takes, and its actual value.
    pub(super) fn wrong(&self, takes: &str) -> Error {
        Error::invalid(format!("{}: takes {takes}, not {}", self.at, self.value))
    }

    /// Adds the path of the entry to another error.
    pub(super) fn because(&self, why: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}: {why}", self.at))
    }
}

/// The value with the name in the entry.
pub(super) fn choice<T: Copy>(entry: &Entry<'_>, names: &[(&str, T)]) -> Result<T> {
    let name = entry.str()?;
    let same = |n: &str| n.eq_ignore_ascii_case(&name.replace('_', "-"));
    let known: Vec<_> = names.iter().map(|(n, _)| *n).collect();
    let found = names.iter().find(|(n, _)| same(n)).map(|(_, v)| *v);
    found.ok_or_else(|| entry.wrong(&known.join(" or ")))
}
