//! Creates groups, and adds and removes members.

use crate::array::group::{self, expect_group};
use crate::array::{OpenOptions, object_type, refuse_inside_array};
use crate::context::Context;
use crate::error::{AtPath, Error, Result};
use crate::filter::Key;
use crate::format::folders::{GROUP_DIR, GROUP_MARKER, META_DIR};
use crate::format::group::{GroupDetails, GroupMember};
use crate::format::metadata::{self, Entry};
use crate::format::{generic_tile, name};
use crate::identity::Ids;
use crate::vfs::join;
use crate::write::commit::names_in;
use crate::write::{WriteOptions, clock};

/// A change to a group's members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupChange {
    /// Adds a member, or replaces the one of the same name.
    Add(GroupMember),
    /// Removes the member with this name (or URI, if it has no name). The member itself is not touched.
    Remove(String),
}

/// Creates an empty group at `path`.
///
/// # Errors
/// [`Error::AlreadyExists`] if `path` is an array or a group; [`Error::InvalidArgument`] if it is inside an array.
pub async fn create_group(context: &Context, path: &str) -> Result<()> {
    if object_type(context, path).await?.is_some() {
        return Err(Error::AlreadyExists { path: path.to_owned() });
    }
    refuse_inside_array(context, path).await?;
    for folder in [GROUP_DIR, META_DIR] {
        context.vfs.create_dir(&join(path, folder)).await?;
    }
    context.put_visible(&join(path, GROUP_MARKER), Vec::new()).await
}

/// Changes the members of the group at `path` atomically.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "line", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// use hyperslab::group::{Group, GroupChange, GroupMember, MemberKind, change_group, create_group};
///
/// create_group(&context, "project").await?;
/// let member = GroupMember {
///     kind: MemberKind::Array,
///     relative: true,
///     uri: "line".into(),
///     name: Some("temperatures".into()),
///     deleted: false,
/// };
/// change_group(&context, "project", &[GroupChange::Add(member)], None, &at(10)).await?;
/// let group = Group::open(&context, "project", &OpenOptions::default()).await?;
/// assert!(group.member("temperatures").is_some());
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// [`Error::NotFound`] if there is no group, or no member with the name to remove.
pub async fn change_group(
    context: &Context,
    path: &str,
    changes: &[GroupChange],
    key: Option<&Key>,
    options: &WriteOptions,
) -> Result<()> {
    let open = OpenOptions {
        key: key.cloned(),
        ..OpenOptions::default()
    };
    let (mut members, version) = group::load_details(context, path, &open).await?;
    for change in changes {
        match change {
            GroupChange::Add(member) => {
                members.insert(
                    member.key().to_owned(),
                    GroupMember {
                        deleted: false,
                        ..member.clone()
                    },
                );
            }
            GroupChange::Remove(name) => match members.get_mut(name).filter(|m| !m.deleted) {
                Some(member) => member.deleted = true,
                None => {
                    let why = format!("the group has no member '{name}'; list the group to see its members");
                    return Err(Error::not_found(path, why));
                }
            },
        }
    }
    let (mut ids, time) = (Ids::new(options.seed), options.timestamp_ms);
    clock::rise_above(&mut ids, &names_in(context, &join(path, GROUP_DIR)).await?, time)?;
    let name = name::group_details(time, time, ids.draw(), version);
    let details = GroupDetails {
        version,
        members: members.into_values().collect(),
    };
    put(
        context,
        &join(path, &join(GROUP_DIR, &name)),
        &details.encode(),
        key,
        &mut ids,
        options.sync,
    )
    .await
}

/// Returns the timestamp for a change of the group's members at `now_ms` by the caller's clock, as
/// [`Array::write_time`] does for a write.
///
/// [`Array::write_time`]: crate::Array::write_time
///
/// # Errors
/// [`Error::InvalidArgument`] if the latest change is far in the future.
pub async fn group_time(context: &Context, path: &str, now_ms: u64) -> Result<u64> {
    clock::after(&names_in(context, &join(path, GROUP_DIR)).await?, now_ms)
}

/// Returns the timestamp for a change of the group's metadata.
///
/// # Errors
/// The errors of [`group_time`].
pub async fn group_metadata_time(context: &Context, path: &str, now_ms: u64) -> Result<u64> {
    clock::after(&names_in(context, &join(path, META_DIR)).await?, now_ms)
}

/// Sets and removes keys of the group's metadata atomically. Writes no file if `entries` is empty.
///
/// # Errors
/// [`Error::NotFound`] if there is no group.
pub async fn write_group_metadata(
    context: &Context,
    path: &str,
    entries: &[Entry],
    key: Option<&Key>,
    options: &WriteOptions,
) -> Result<()> {
    expect_group(context, path).await?;
    if entries.is_empty() {
        return Ok(());
    }
    let (mut ids, time) = (Ids::new(options.seed), options.timestamp_ms);
    clock::rise_above(&mut ids, &names_in(context, &join(path, META_DIR)).await?, time)?;
    let name = name::plain(time, time, ids.draw());
    let file = join(path, &join(META_DIR, &name));
    put(context, &file, &metadata::encode(entries), key, &mut ids, options.sync).await
}

async fn put(
    context: &Context,
    path: &str,
    payload: &[u8],
    key: Option<&Key>,
    ids: &mut Ids,
    sync: bool,
) -> Result<()> {
    let bytes = generic_tile::encode(payload, key, &ids.nonces(key)).at(path)?;
    context.put_visible(path, bytes).await?;
    if sync { context.vfs.sync(path).await } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::fetch::read_generic;
    use crate::array::{Group, ObjectType};
    use crate::blocking::block_on;
    use crate::format::group::MemberKind;
    use crate::vfs::VfsExt;
    use bytes::Bytes;

    #[test]
    fn a_group_of_an_old_release_remains_a_group() {
        let context = Context::memory();
        block_on(create_group(&context, "g")).unwrap();
        let member = |name: &str| GroupMember {
            kind: MemberKind::Array,
            relative: true,
            uri: name.into(),
            name: Some(name.into()),
            deleted: false,
        };
        let old = GroupDetails {
            version: 1,
            members: vec![member("a"), member("b")],
        };
        let mut ids = Ids::new([1; 32]);
        let file = join("g/__group", &name::group_details(1, 1, ids.draw(), 1));
        block_on(put(&context, &file, &old.encode(), None, &mut ids, false)).unwrap();
        let options = WriteOptions {
            timestamp_ms: 2,
            seed: [2; 32],
            sync: false,
        };
        let changes = [GroupChange::Remove("a".into()), GroupChange::Add(member("c"))];
        block_on(change_group(&context, "g", &changes, None, &options)).unwrap();
        let files = block_on(context.vfs.list("g/__group")).unwrap();
        assert!(
            files.len() == 2 && files.iter().all(|f| f.name.ends_with("_1")),
            "{files:?}"
        );
        for file in files {
            let payload = block_on(read_generic(&context, &join("g/__group", &file.name), None)).unwrap();
            assert_eq!(GroupDetails::decode(&payload).unwrap().version, 1);
        }
        let group = block_on(Group::open(&context, "g", &OpenOptions::default())).unwrap();
        let names: Vec<_> = group.members.iter().filter_map(|m| m.name.as_deref()).collect();
        assert_eq!(names, ["b", "c"]);
    }

    #[test]
    fn nothing_is_created_inside_an_array() {
        let context = Context::memory();
        block_on(context.vfs.put("g/a/__schema/__1_1_a", vec![Bytes::from("x")])).unwrap();
        block_on(context.vfs.put("g/old/__array_schema.tdb", vec![Bytes::from("x")])).unwrap();
        block_on(create_group(&context, "g/b/c")).unwrap();
        for (path, array) in [("g/a/b", "g/a"), ("g/a/__meta/b/c", "g/a"), ("g/old/b", "g/old")] {
            let error = block_on(create_group(&context, path)).unwrap_err().to_string();
            let told = format!("cannot create {path}: the path is inside the array {array}, ");
            assert!(error.contains(&told), "{error}");
        }
        block_on(context.vfs.put("__schema/__1_1_a", vec![Bytes::from("x")])).unwrap();
        let error = block_on(create_group(&context, "h")).unwrap_err().to_string();
        assert!(error.contains("the root of the store"), "{error}");
    }

    #[test]
    fn an_array_in_the_folder_of_a_group_does_not_hide_its_members() {
        let context = Context::memory();
        block_on(create_group(&context, "g")).unwrap();
        block_on(context.vfs.put("g/__schema/__1_1_a", vec![Bytes::from("x")])).unwrap();
        assert_eq!(block_on(object_type(&context, "g")).unwrap(), Some(ObjectType::Array));
        let options = WriteOptions {
            timestamp_ms: 2,
            seed: [2; 32],
            sync: false,
        };
        let itself = GroupMember {
            kind: MemberKind::Array,
            relative: true,
            uri: "a".into(),
            name: Some("a".into()),
            deleted: false,
        };
        block_on(change_group(&context, "g", &[GroupChange::Add(itself)], None, &options)).unwrap();
        block_on(write_group_metadata(&context, "g", &[], None, &options)).unwrap();
        let group = block_on(Group::open(&context, "g", &OpenOptions::default())).unwrap();
        assert_eq!(group.members.len(), 1);
        assert!(block_on(Group::open(&context, "h", &OpenOptions::default())).is_err());
    }
}
