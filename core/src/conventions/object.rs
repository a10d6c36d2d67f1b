//! What the caller knows about an array or a group.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::value;
use crate::datatype::Datatype;
use crate::format::metadata::MetaValue;
use crate::format::schema::Schema;
use crate::scalar::ScalarRange;

/// An array or a group, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// What it is.
    pub content: Content,
    /// Its metadata.
    pub metadata: BTreeMap<String, MetaValue>,
}

/// An array, or the members of a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// An array.
    Array {
        /// Its schema.
        schema: Arc<Schema>,
        /// The bounding box of its cells; `None` if nothing was written.
        non_empty_domain: Option<Vec<ScalarRange>>,
    },
    /// A group.
    Group {
        /// Its members.
        members: Vec<Member>,
    },
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its path below the group, or a URI elsewhere.
    pub uri: String,
    /// Whether `uri` is a path below the group.
    pub relative: bool,
    /// Whether the group lists it. Some applications only put it into the folder.
    pub listed: bool,
}

/// An array: its schema, its cells' bounding box and its metadata.
#[derive(Clone, Copy)]
pub(super) struct Array<'a> {
    pub(super) schema: &'a Schema,
    pub(super) non_empty: Option<&'a [ScalarRange]>,
    pub(super) object: &'a Object,
}

impl Object {
    pub(super) fn array(&self) -> Option<Array<'_>> {
        match &self.content {
            Content::Array {
                schema,
                non_empty_domain,
            } => Some(Array {
                schema,
                non_empty: non_empty_domain.as_deref(),
                object: self,
            }),
            Content::Group { .. } => None,
        }
    }

    pub(super) fn members(&self) -> &[Member] {
        match &self.content {
            Content::Group { members } => members,
            Content::Array { .. } => &[],
        }
    }

    pub(super) const fn is_group(&self) -> bool {
        matches!(self.content, Content::Group { .. })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.metadata.contains_key(key)
    }

    /// The value of this key as text. Applications store text as four datatypes, one of them `uint8`.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'_, str>> {
        value::text(self.metadata.get(key)?)
    }

    /// The value of this key as a number.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        value::numbers(self.metadata.get(key)?).first().copied()
    }

    /// The value of this key, which is JSON in a text. `None` if it is not.
    pub(super) fn json(&self, key: &str) -> Option<Value> {
        serde_json::from_str(&self.text(key)?).ok()
    }

    /// The value of this key, a text or a number, as text.
    pub(super) fn shown(&self, key: &str) -> Option<String> {
        let stored = self.metadata.get(key)?;
        match value::text(stored) {
            Some(text) if stored.datatype != Datatype::Uint8 => Some(text.into_owned()),
            _ => Some(value::numbers(stored).first()?.to_string()),
        }
    }
}
