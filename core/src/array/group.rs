//! Groups: folders with arrays and other groups as members.

use std::collections::BTreeMap;

use futures_util::future;

use super::directory::{Committed, Listing};
use super::fetch::read_generic;
use super::meta::load_metadata;
use super::window::{OpenOptions, Window};
use crate::context::Context;
use crate::error::{AtPath, Error, Result};
use crate::format::commits;
use crate::format::folders::{ARRAY_MARKERS, GROUP_DIR, GROUP_MARKERS, META_DIR};
use crate::format::group::{GroupDetails, GroupMember, MemberKind, VERSION};
use crate::format::metadata::MetaValue;
use crate::format::name::TimestampedName;
use crate::sort::sort_by;
use crate::vfs::{Entry, EntryKind, VfsExt, join, last_part, path_within, side_by_side};

/// The type of object in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the enum's comment describes the variants")]
pub enum ObjectType {
    Array,
    Group,
}

impl ObjectType {
    /// `array` or `group`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Group => "group",
        }
    }
}

/// Whether a folder with this name can be an array, a group or a folder of them. Excludes the format's own folders and
/// unfinished imports.
pub fn may_be_array(name: &str) -> bool {
    !name.starts_with("__") && !name.starts_with(".hyperslab-")
}

/// The type of object at `path`: an array, a group, or `None` for neither.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be listed.
pub async fn object_type(context: &Context, path: &str) -> Result<Option<ObjectType>> {
    let root = context.vfs.list(path).await?;
    Ok(if has_one_of(&root, ARRAY_MARKERS) {
        Some(ObjectType::Array)
    } else if is_group(&root) {
        Some(ObjectType::Group)
    } else {
        None
    })
}

/// Checks that there is a group at `path`. The folder may be an array too.
///
/// # Errors
/// [`Error::NotFound`] if `path` is not a group.
pub(crate) async fn expect_group(context: &Context, path: &str) -> Result<()> {
    match is_group(&context.vfs.list(path).await?) {
        true => Ok(()),
        false => Err(Error::not_found(path, "there is no group at this path; check the path")),
    }
}

/// Whether a folder with these entries is a group.
pub(super) fn is_group(folder: &[Entry]) -> bool {
    has_one_of(folder, GROUP_MARKERS)
}

fn has_one_of(folder: &[Entry], names: [&str; 2]) -> bool {
    folder.iter().any(|e| names.contains(&e.name.as_str()))
}

/// A group, as seen in a window of time.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its path in the store.
    pub path: String,
    /// Its members, sorted by name.
    pub members: Vec<Member>,
    /// Whether the group has a `__group` folder with a list of members, even if empty. Releases before 2.8 have no such
    /// list: everything in the folder belongs to the group. Object stores do not keep the folder of an empty list.
    pub listed: bool,
    context: Context,
    options: OpenOptions,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name in the group, if it has one.
    pub name: Option<String>,
    /// Its location: a path in the group's store if relative, otherwise the stored URI.
    pub uri: String,
    /// Whether `uri` is a path in the group's store.
    pub relative: bool,
    /// Its type; `None` if nothing existed at the URI when it was added.
    pub kind: Option<ObjectType>,
}

impl Group {
    /// Opens the group at `path`.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no group. Other errors are those of opening arrays.
    pub async fn open(context: &Context, path: &str, options: &OpenOptions) -> Result<Self> {
        let (members, _) = load_details(context, path, options).await?;
        let listed = match members.is_empty() {
            true => context.vfs.list(path).await?.iter().any(|e| e.name == GROUP_DIR),
            false => true,
        };
        let members = members.into_values().map(|m| Member::new(path, m)).collect();
        Ok(Self {
            path: path.to_owned(),
            members,
            listed,
            context: context.clone(),
            options: options.clone(),
        })
    }

    /// The member with this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|m| m.name.as_deref() == Some(name))
    }

    /// The context with the group's store.
    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    /// Names of arrays and groups in the group's folder that are not members. libtiledb lists them too, and some
    /// libraries store arrays this way.
    ///
    /// # Errors
    /// [`Error::Io`] if a folder cannot be listed.
    pub async fn others(&self) -> Result<Vec<String>> {
        let vfs = &self.context.vfs;
        let root = vfs.location(&self.path);
        let is_member = |path: &str| {
            self.members.iter().any(|m| {
                let inside = if m.relative {
                    path_within("/", &format!("/{}", m.uri))
                } else {
                    root.as_ref()
                        .and_then(|root| Some(join(&self.path, &path_within(root, &m.uri)?)))
                };
                inside.as_deref() == Some(path)
            })
        };
        let entries = vfs.list(&self.path).await?.into_iter();
        let folders = entries.filter(|e| e.kind == EntryKind::Dir && may_be_array(&e.name));
        let unnamed = folders.filter(|e| !is_member(&join(&self.path, &e.name)));
        let kinds = unnamed.map(|e| async move {
            let kind = object_type(&self.context, &join(&self.path, &e.name)).await?;
            Ok::<_, Error>(kind.map(|_| e.name))
        });
        Ok(side_by_side(kinds).await?.into_iter().flatten().collect())
    }

    /// The metadata of the group, by key.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Key`] and [`Error::Io`] name the file.
    pub async fn metadata(&self) -> Result<BTreeMap<String, MetaValue>> {
        let vfs = &self.context.vfs;
        let listing = Listing {
            meta: vfs.list(&join(&self.path, META_DIR)).await?,
            ..Listing::default()
        };
        let lists = listing.to_fetch().into_iter().map(|name| async move {
            let bytes = vfs.read_all(&join(&self.path, &name)).await?;
            Ok::<_, Error>((name, bytes))
        });
        let lists = side_by_side(lists).await?;
        let visible = Committed::read(&listing, &lists)?.visible(self.options.window, false)?;
        let files: Vec<String> = visible.metadata.iter().map(|f| join(&self.path, f)).collect();
        load_metadata(&self.context, &files, self.options.key.as_ref()).await
    }
}

/// The members of the group at `path` as stored, by [`GroupMember::key`], and the version of the newest details file.
/// libtiledb cannot read a group whose details files have different versions.
pub(crate) async fn load_details(
    context: &Context,
    path: &str,
    options: &OpenOptions,
) -> Result<(BTreeMap<String, GroupMember>, u32)> {
    let details = join(path, GROUP_DIR);
    let (_, files) = future::try_join(expect_group(context, path), context.vfs.list(&details)).await?;
    let names: Vec<String> = files.into_iter().map(|e| e.name).collect();
    let vacuums = names.iter().filter(|n| n.ends_with(".vac")).map(|n| join(&details, n));
    let vacuums =
        side_by_side(vacuums.map(|p: String| async move { Ok::<_, Error>((context.vfs.read_all(&p).await?, p)) }))
            .await?;
    let mut gone = Vec::new();
    for (bytes, path) in &vacuums {
        gone.extend(
            commits::decode_lines(bytes)
                .at(path)?
                .iter()
                .map(|line| last_part(line).to_owned()),
        );
    }
    let visible = visible(names, &gone, options.window);
    let paths: Vec<String> = visible.iter().map(|n| join(&details, n)).collect();
    let payloads = side_by_side(paths.iter().map(|p| read_generic(context, p, options.key.as_ref()))).await?;
    let (mut members, mut version) = (BTreeMap::new(), VERSION);
    for (file, payload) in paths.iter().zip(payloads) {
        let details = GroupDetails::decode(&payload).at(file)?;
        version = details.version;
        merge(&mut members, details);
    }
    Ok((members, version))
}

/// The details files that are visible in `window`, oldest first.
fn visible(names: Vec<String>, gone: &[String], window: Window) -> Vec<String> {
    let inside = |n: &TimestampedName| window.start_ms <= n.start_ms && n.end_ms <= window.end_ms;
    let files = names.into_iter().filter(|n| !n.ends_with(".vac") && !gone.contains(n));
    let mut files: Vec<(u64, String)> = files
        .filter_map(|n| {
            TimestampedName::parse(&n)
                .ok()
                .filter(inside)
                .map(|parsed| (parsed.start_ms, n))
        })
        .collect();
    sort_by(&mut files, Ord::cmp);
    files.into_iter().map(|(_, n)| n).collect()
}

/// Applies a details file to the members known so far. A version 1 file replaces all members.
fn merge(members: &mut BTreeMap<String, GroupMember>, details: GroupDetails) {
    if details.version == 1 {
        members.clear();
    }
    for member in details.members {
        let key = member.key().to_owned();
        if member.deleted {
            members.remove(&key);
        } else {
            members.insert(key, member);
        }
    }
}

impl Member {
    fn new(group: &str, m: GroupMember) -> Self {
        let uri = if m.relative {
            join(group, m.uri.trim_matches('/'))
        } else {
            m.uri
        };
        let kind = match m.kind {
            MemberKind::Array => Some(ObjectType::Array),
            MemberKind::Group => Some(ObjectType::Group),
            MemberKind::Unknown => None,
        };
        Self {
            name: m.name,
            uri,
            relative: m.relative,
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::blocking::block_on;

    fn member(name: &str, deleted: bool) -> GroupMember {
        GroupMember {
            kind: MemberKind::Array,
            relative: true,
            uri: format!("dir/{name}"),
            name: Some(name.into()),
            deleted,
        }
    }

    #[test]
    fn version_2_files_add_and_remove_and_version_1_files_replace() {
        let mut members = BTreeMap::new();
        merge(
            &mut members,
            GroupDetails {
                version: 2,
                members: vec![member("a", false), member("b", false)],
            },
        );
        merge(
            &mut members,
            GroupDetails {
                version: 2,
                members: vec![member("a", true), member("c", false)],
            },
        );
        assert_eq!(members.keys().collect::<Vec<_>>(), ["b", "c"]);
        merge(
            &mut members,
            GroupDetails {
                version: 1,
                members: vec![member("d", false)],
            },
        );
        assert_eq!(members.keys().collect::<Vec<_>>(), ["d"]);
    }

    #[test]
    fn details_are_ordered_by_time() {
        let name = |t: u64| format!("__{t}_{t}_0123456789abcdef0123456789abcdef_2");
        let names = vec![name(10), name(9), name(30), format!("{}.vac", name(9))];
        assert_eq!(visible(names, &[], Window::at(20)), [name(9), name(10)]);
        assert_eq!(visible(vec![name(9), name(10)], &[name(9)], Window::ALL), [name(10)]);
    }

    #[test]
    fn relative_members_are_inside_the_group() {
        assert_eq!(Member::new("g", member("a", false)).uri, "g/dir/a");
    }

    #[test]
    fn opening_a_group_as_an_array_names_the_group() {
        let context = Context::memory();
        let message = |path: &str| {
            block_on(Array::open(&context, path, &OpenOptions::default()))
                .unwrap_err()
                .to_string()
        };
        block_on(context.vfs.put("g/__tiledb_group.tdb", Vec::new())).unwrap();
        assert!(message("g").contains("this is a group"), "{}", message("g"));
        assert!(
            message("elsewhere").contains("there is no array at this path"),
            "{}",
            message("elsewhere")
        );
    }
}
