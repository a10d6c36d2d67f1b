//! Groups: creating them, adding and removing members.

use crate::context::Context;
use crate::error::Result;
use crate::filter::Key;
use crate::format::group::GroupMember;
use crate::format::metadata::Entry;
use crate::write::WriteOptions;

/// A change to a group's members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupChange {
    /// Adds a member, or replaces the one of the same name.
    Add(GroupMember),
    /// Removes the member of this name (or URI, if it has no name). What it names is not touched.
    Remove(String),
}

/// Creates an empty group at `path`.
///
/// # Errors
/// [`crate::Error::AlreadyExists`] if there is an array or a group.
pub async fn create_group(context: &Context, path: &str) -> Result<()> {
    let _ = (context, path);
    unimplemented!()
}

/// Changes the members of the group at `path`, all at once.
///
/// # Errors
/// [`crate::Error::NotFound`] if there is no group, or no member to remove.
pub async fn change_group(
    context: &Context,
    path: &str,
    changes: &[GroupChange],
    key: Option<&Key>,
    options: &WriteOptions,
) -> Result<()> {
    let _ = (context, path, changes, key, options);
    unimplemented!()
}

/// Sets and removes keys of the group's metadata, all at once.
///
/// # Errors
/// [`crate::Error::NotFound`] if there is no group.
pub async fn write_group_metadata(
    context: &Context,
    path: &str,
    entries: &[Entry],
    key: Option<&Key>,
    options: &WriteOptions,
) -> Result<()> {
    let _ = (context, path, entries, key, options);
    unimplemented!()
}
