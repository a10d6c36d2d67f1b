//! Groups: folders that name arrays and other groups as members.

use crate::context::Context;
use crate::error::Result;

use super::snapshot::OpenOptions;

/// What a folder of a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "defined by the enum's own sentence")]
pub enum ObjectType {
    Array,
    Group,
}

/// What lies at `path`: an array, a group, or neither.
///
/// # Errors
/// [`crate::Error::Io`] if the folder cannot be listed.
pub async fn object_type(context: &Context, path: &str) -> Result<Option<ObjectType>> {
    let _ = (context, path);
    unimplemented!()
}

/// A group as it was in a window of time.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its path in the store.
    pub path: String,
    /// Its members, in the order of their names.
    pub members: Vec<Member>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name in the group, where it was given one.
    pub name: Option<String>,
    /// Where it lies: a path in the group's store if the member is relative, else the URI as stored.
    pub uri: String,
    /// Whether `uri` is a path in the group's store.
    pub relative: bool,
    /// What it is.
    pub kind: ObjectType,
}

impl Group {
    /// Opens the group at `path`.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`] if there is no group; others as for arrays.
    pub async fn open(context: &Context, path: &str, options: &OpenOptions) -> Result<Self> {
        let _ = (context, path, options);
        unimplemented!()
    }
}
