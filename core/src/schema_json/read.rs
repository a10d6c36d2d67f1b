//! JSON with its place, so that every complaint names the entry it is about.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A value and where it stands, such as `attributes[1].type`.
pub(super) struct Entry<'a> {
    pub(super) value: &'a Value,
    pub(super) at: String,
    /// Its index in the list it is in; 0 elsewhere.
    pub(super) index: usize,
}

impl<'a> Entry<'a> {
    /// An object that has no other entries than `known`.
    pub(super) fn object(value: &'a Value, at: &str, known: &[&str]) -> Result<Self> {
        let new = Self {
            value,
            at: at.to_owned(),
            index: 0,
        };
        new.known(known)?;
        Ok(new)
    }

    /// Complains about entries that are not `known`.
    pub(super) fn known(&self, known: &[&str]) -> Result<()> {
        match self.map()?.keys().find(|k| !known.contains(&k.as_str())) {
            Some(other) => Err(Error::invalid(format!(
                "{}: there is no entry '{other}'; there are {}",
                self.at,
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }

    fn map(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    /// The entry of this key; `null` counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.value.get(key).filter(|v| !v.is_null())?;
        Some(Entry {
            value,
            at: self.child(key),
            index: 0,
        })
    }

    /// The entry of this key, which must be there.
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

    /// What `read` makes of each item of the list of this key; nothing where there is no list.
    pub(super) fn list<T>(&self, key: &str, read: impl Fn(&Entry<'a>) -> Result<T>) -> Result<Vec<T>> {
        self.get(key)
            .map_or(Ok(Vec::new()), |e| e.items()?.iter().map(read).collect())
    }

    pub(super) fn str(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a string"))
    }

    /// The string of this key, or an empty one.
    pub(super) fn string(&self, key: &str) -> Result<String> {
        self.get(key).map_or(Ok(String::new()), |e| e.str().map(str::to_owned))
    }

    /// The flag of this key, or false.
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

    /// A complaint: what the entry takes, and what it is.
    pub(super) fn wrong(&self, takes: &str) -> Error {
        Error::invalid(format!("{}: takes {takes}, not {}", self.at, self.value))
    }

    /// A complaint of somebody who does not know where the entry stands.
    pub(super) fn because(&self, why: impl std::fmt::Display) -> Error {
        Error::invalid(format!("{}: {why}", self.at))
    }
}

/// The value whose name is the entry's string.
pub(super) fn choice<T: Copy>(entry: &Entry<'_>, names: &[(&str, T)]) -> Result<T> {
    let name = entry.str()?;
    let same = |n: &str| n.eq_ignore_ascii_case(&name.replace('_', "-"));
    let known: Vec<_> = names.iter().map(|(n, _)| *n).collect();
    let found = names.iter().find(|(n, _)| same(n)).map(|(_, v)| *v);
    found.ok_or_else(|| entry.wrong(&known.join(" or ")))
}
