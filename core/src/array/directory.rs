//! Selects the visible files of an array from the names in its folders. Does no I/O.
//!
//! Opening takes two rounds: list the five folders, then fetch the files of [`Listing::to_fetch`] together with the
//! schema. [`Committed::visible`] needs the results of both.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use bytes::Bytes;

use super::Window;
use crate::error::{AtPath, Error, Malformed, Result};
use crate::format::commits::{self, COMMITS_DIR, ConsolidatedCommit, FRAGMENTS_DIR};
use crate::format::folders::{FRAGMENT_META_DIR, META_DIR, ROOT_SCHEMA, SCHEMA_DIR};
use crate::format::name::{NameForm, TimestampedName, stem};
use crate::format::version::Version;
use crate::sort::{sort_by, sort_by_number};
use crate::vfs::{Entry, EntryKind, join, last_part};

/// The entries of the folders of an array. Missing folders are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Entries of the array's root folder.
    pub root: Vec<Entry>,
    /// Entries of `__schema`.
    pub schema: Vec<Entry>,
    /// Entries of `__commits`.
    pub commits: Vec<Entry>,
    /// Entries of `__fragment_meta`.
    pub fragment_meta: Vec<Entry>,
    /// Entries of `__meta`.
    pub meta: Vec<Entry>,
    /// Commits to ignore: consolidated commit files list them, but their fragments were vacuumed.
    pub vacuumed: Vec<String>,
}

/// The visible contents of an array in a window. Paths are relative to the array.
#[derive(Debug, Clone, Default)]
pub struct Visible {
    /// The fragments, oldest first. Fragments with the same time are in order of their names.
    pub fragments: Vec<FragmentRef>,
    /// Fragments that a consolidated fragment replaces and that have not been vacuumed yet.
    pub replaced: Vec<FragmentRef>,
    /// The delete commits, oldest first.
    pub deletes: Vec<DeleteRef>,
    /// The files of array metadata, oldest first.
    pub metadata: Vec<String>,
}

/// A fragment, identified by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentRef {
    /// Name of its folder.
    pub name: String,
    /// Path of its folder.
    pub path: String,
    /// Format version according to the name: 4 for names of versions 3 and 4, 2 for names of versions 1 and 2.
    pub version: Version,
    /// The time of its first write, in milliseconds since 1970.
    pub start_ms: u64,
    /// The time of its last write, in milliseconds since 1970.
    pub end_ms: u64,
    /// Whether only the metadata file marks the fragment as committed, as before version 5. A folder without that file
    /// is the remains of a failed write.
    pub unmarked: bool,
}

impl FragmentRef {
    /// The fragment in the folder `path` with this parsed name.
    ///
    /// # Errors
    /// [`crate::Error::UnsupportedVersion`] for a fragment newer than this release.
    pub(super) fn new(path: String, name: &TimestampedName, unmarked: bool) -> Result<Self> {
        Ok(Self {
            version: name.version().map_err(misnamed).at(&path)?,
            start_ms: name.start_ms,
            end_ms: name.end_ms,
            name: stem(last_part(&path)).to_owned(),
            unmarked,
            path,
        })
    }
}

/// A delete commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRef {
    /// Its path, such as `__commits/…_22.del`. Lists of processed conditions use this path.
    pub path: String,
    /// The time of the delete, in milliseconds since 1970.
    pub time_ms: u64,
    /// Location of its bytes.
    pub source: DeleteSource,
}

/// Location of the bytes of a delete commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteSource {
    /// A file of its own.
    File,
    /// A byte range of a consolidated file.
    Embedded {
        /// Path of the consolidated file.
        path: String,
        /// The byte range.
        range: Range<usize>,
    },
}

impl Listing {
    /// Whether these are the folders of an array.
    pub fn is_array(&self) -> bool {
        let marks = |e: &Entry| e.name == ROOT_SCHEMA || (e.name == SCHEMA_DIR && e.kind == EntryKind::Dir);
        !self.schema.is_empty() || self.root.iter().any(marks)
    }

    /// Paths of all schemas of the array, oldest first.
    pub fn schemas(&self) -> Vec<String> {
        let root = self
            .root
            .iter()
            .filter(|e| e.name == ROOT_SCHEMA)
            .map(|e| e.name.clone());
        let mut own: Vec<_> = files(&self.schema)
            .filter(|name| name.starts_with("__"))
            .map(|name| join(SCHEMA_DIR, name))
            .collect();
        // Sorted as strings, like libtiledb. Timestamps with the same number of digits sort correctly.
        sort_by(&mut own, Ord::cmp);
        root.chain(own).collect()
    }

    /// The schema to read with: the last one in the window, or the first of all if the window ends before it. `None` if
    /// there is no array.
    pub fn schema_at(&self, window: Window) -> Option<String> {
        let schemas = self.schemas();
        let in_time = |path: &&String| own_name(path).is_some_and(|name| name.end_ms <= window.end_ms);
        schemas.iter().rev().find(in_time).or(schemas.first()).cloned()
    }

    /// Fails if a folder has the name of a schema, commit or metadata file. Ignoring it could revive deleted cells.
    ///
    /// # Errors
    /// [`Error::Io`] names the folder.
    pub(super) fn check_kinds(&self, array: &str) -> Result<()> {
        let folders = [
            (SCHEMA_DIR, &self.schema),
            (COMMITS_DIR, &self.commits),
            (FRAGMENT_META_DIR, &self.fragment_meta),
            (META_DIR, &self.meta),
        ];
        for (folder, entries) in folders {
            let is_file = |e: &&Entry| TimestampedName::parse(stem(&e.name)).is_ok();
            if let Some(wrong) = entries.iter().filter(|e| e.kind == EntryKind::Dir).find(is_file) {
                return Err(Error::io(
                    join(&join(array, folder), &wrong.name),
                    "this is a folder in place of a file; remove the folder, and restore the file from a backup",
                ));
            }
        }
        Ok(())
    }

    /// The files that determine what is visible: `.con`, `.ign` and `.vac` files.
    pub fn to_fetch(&self) -> Vec<String> {
        let commits = files(&self.commits).filter(|n| ends_with_any(n, &[".con", ".ign", ".vac"]));
        let root = files(&self.root).filter(|n| n.ends_with(".vac"));
        let meta = files(&self.meta).filter(|n| n.ends_with(".vac"));
        let commits = commits.map(|n| join(COMMITS_DIR, n));
        commits
            .chain(root.map(str::to_owned))
            .chain(meta.map(|n| join(META_DIR, n)))
            .collect()
    }

    /// The files of consolidated fragment metadata. If two have the same fragment, the first is used.
    pub fn consolidated_metadata(&self) -> Vec<String> {
        let own = files(&self.fragment_meta)
            .filter(|n| n.ends_with(".meta"))
            .map(|n| join(FRAGMENT_META_DIR, n));
        let old = files(&self.root).filter(|n| n.ends_with(".meta")).map(str::to_owned);
        own.chain(old).collect()
    }
}

/// All committed fragments and deletes of an array, at any time.
pub struct Committed<'a> {
    listing: &'a Listing,
    lists: CommitLists<'a>,
    /// For each fragment: its folder, its parsed name, and whether only its metadata file marks it as committed.
    fragments: Vec<(String, TimestampedName, bool)>,
}

impl<'a> Committed<'a> {
    /// Parses the names in `listing`. `fetched` holds the contents of the files in [`Listing::to_fetch`], by path.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for a damaged file or an invalid name.
    pub fn read(listing: &'a Listing, fetched: &'a [(String, Bytes)]) -> Result<Self> {
        let mut lists = CommitLists::read(fetched)?;
        lists.ignored.extend(listing.vacuumed.iter().cloned());
        let parsed = |(path, unmarked): (String, bool)| {
            let name = TimestampedName::parse(last_part(&path));
            let name = name.map_err(misnamed).at(&path)?;
            Ok((path, name, unmarked))
        };
        Ok(Self {
            listing,
            fragments: committed(listing, &lists)
                .into_iter()
                .map(parsed)
                .collect::<Result<_>>()?,
            lists,
        })
    }

    /// Fragments that only consolidated commit files list: for each, its commit, its folder and its parsed name.
    pub(super) fn listed_only(&self) -> impl Iterator<Item = (&str, String, TimestampedName)> {
        let root: HashSet<&str> = files(&self.listing.root).collect();
        let own: HashSet<&str> = files(&self.listing.commits).collect();
        let is_own = move |path: &str| own.contains(last_part(path)) || root.contains(path);
        let listed = self.lists.commits().filter(move |path| !is_own(path));
        listed.filter_map(|path| Some((path, commits::folder_of(path)?, own_name(path)?)))
    }

    /// The parsed names of the fragments whose folder passes `is_there`.
    pub(super) fn names(&self, is_there: impl Fn(&str) -> bool) -> Vec<TimestampedName> {
        let there = self.fragments.iter().filter(|(path, ..)| is_there(path));
        there.map(|(_, name, _)| *name).collect()
    }

    /// Whether the visible fragments in `window` depend on whether the array is sparse. They do if a fragment's time
    /// range is only partly in the window.
    pub fn straddles(&self, window: Window) -> bool {
        let differs = |name: &TimestampedName| {
            let admitted = |sparse| Rule { window, sparse }.admits(name);
            admitted(true) != admitted(false)
        };
        self.fragments.iter().any(|(_, name, _)| differs(name))
            || self
                .lists
                .vacuum
                .iter()
                .any(|(path, _)| own_name(path).is_some_and(|n| differs(&n)))
    }

    /// The visible contents in `window`. `sparse` is whether the array's schema is sparse.
    ///
    /// # Errors
    /// [`crate::Error::UnsupportedVersion`] for a fragment newer than this release.
    pub fn visible(self, window: Window, sparse: bool) -> Result<Visible> {
        let (listing, lists) = (self.listing, self.lists);
        let rule = Rule { window, sparse };
        let mut fragments = Vec::new();
        for (path, name, unmarked) in self.fragments {
            if rule.admits(&name) {
                fragments.push(FragmentRef::new(path, &name, unmarked)?);
            }
        }
        let replaced = lists.replaced(|path| !path.starts_with(META_DIR), |name| rule.admits(name));
        sort_by(&mut fragments, |a, b| (a.start_ms, &a.name).cmp(&(b.start_ms, &b.name)));
        if fragments
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.start_ms == b.start_ms))
        {
            // libtiledb finds fragments in consolidated commit files first, so they come first among equal times.
            let listed: HashSet<&str> = lists.commits().map(|path| stem(last_part(path))).collect();
            let key = |f: &FragmentRef| (f.start_ms, !listed.contains(f.name.as_str()));
            sort_by(&mut fragments, |a, b| {
                key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
            });
        }
        let (replaced, fragments) = fragments.into_iter().partition(|f| replaced.contains(f.name.as_str()));
        Ok(Visible {
            fragments,
            replaced,
            deletes: deletes(listing, &lists, window),
            metadata: metadata(listing, &lists, window),
        })
    }
}

/// Adds a hint to an error about a fragment's name.
fn misnamed(mut complaint: Malformed) -> Malformed {
    complaint.why += " (if it does not belong to the array, move it and its marker in __commits out of the array)";
    complaint
}

/// Whether the time range of a consolidated fragment among `others` covers the fragment `name`, so that it may hold its
/// cells.
pub(crate) fn is_covered(name: &TimestampedName, others: &[TimestampedName]) -> bool {
    let covers = |o: &TimestampedName| o.start_ms <= name.start_ms && name.end_ms <= o.end_ms;
    others.iter().any(|o| o.start_ms < o.end_ms && covers(o))
}

/// Decides whether a name is visible in a window.
#[derive(Clone, Copy)]
struct Rule {
    window: Window,
    sparse: bool,
}

impl Rule {
    /// Sparse fragments with cell timestamps are visible if they overlap the window. All others must be inside the
    /// window.
    fn admits(self, name: &TimestampedName) -> bool {
        let may_overlap = self.sparse && name.number.is_some_and(Version::number_has_delete_metadata);
        if may_overlap {
            name.start_ms <= self.window.end_ms && self.window.start_ms <= name.end_ms
        } else {
            contains(self.window, name)
        }
    }
}

fn contains(window: Window, name: &TimestampedName) -> bool {
    window.start_ms <= name.start_ms && name.end_ms <= window.end_ms
}

/// The contents of the fetched files.
#[derive(Default)]
struct CommitLists<'a> {
    /// All consolidated commits, including ignored ones, each with the file that lists it.
    consolidated: Vec<(&'a str, ConsolidatedCommit<'a>)>,
    ignored: HashSet<String>,
    /// All vacuum files, with their lines.
    vacuum: Vec<(&'a str, Vec<String>)>,
}

impl<'a> CommitLists<'a> {
    fn read(fetched: &'a [(String, Bytes)]) -> Result<Self> {
        let mut new = Self::default();
        for (path, bytes) in fetched {
            if path.ends_with(".con") {
                let commits = commits::decode_consolidated(bytes).at(path)?;
                new.consolidated.extend(commits.into_iter().map(|c| (path.as_str(), c)));
            } else if path.ends_with(".ign") {
                new.ignored.extend(commits::decode_lines(bytes).at(path)?);
            } else {
                new.vacuum.push((path, commits::decode_lines(bytes).at(path)?));
            }
        }
        Ok(new)
    }

    /// The commits in consolidated files, except ignored ones.
    fn commits(&self) -> impl Iterator<Item = &str> {
        let paths = self.consolidated.iter().map(|(_, c)| c.path.as_ref());
        paths.filter(|path| !self.ignored.contains(*path))
    }

    /// The names listed by the vacuum files whose path passes `of` and whose name passes `counts`.
    fn replaced(&self, of: impl Fn(&str) -> bool, counts: impl Fn(&TimestampedName) -> bool) -> HashSet<&str> {
        let open_mode = self
            .vacuum
            .iter()
            .filter(|(path, _)| of(path) && own_name(path).is_some_and(|n| counts(&n)));
        let lines = open_mode.flat_map(|(_, lines)| lines);
        lines
            .map(|line| last_part(commits::vacuumed_path(line).trim_end_matches('/')))
            .collect()
    }
}

/// Parses the last part of a path; `None` if it is not a timestamped name.
fn own_name(path: &str) -> Option<TimestampedName> {
    TimestampedName::parse(last_part(path)).ok()
}

/// Folders of the committed fragments, each with whether only its metadata file marks it as committed.
fn committed(listing: &Listing, lists: &CommitLists<'_>) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut marked: HashSet<&str> = files(&listing.root).filter_map(|n| n.strip_suffix(".ok")).collect();
    for path in lists.commits() {
        if let Some(name) = path.strip_suffix(".ok") {
            marked.insert(name);
        } else if let Some(name) = path.strip_suffix(".wrt") {
            found.push((join(FRAGMENTS_DIR, last_part(name)), false));
        }
    }
    for name in files(&listing.commits)
        .filter(|n| n.starts_with("__"))
        .filter_map(|n| n.strip_suffix(".wrt"))
    {
        found.push((join(FRAGMENTS_DIR, name), false));
    }
    for folder in listing
        .root
        .iter()
        .filter(|e| e.kind == EntryKind::Dir)
        .map(|e| e.name.as_str())
    {
        match TimestampedName::parse(folder) {
            Ok(name) if name.form == NameForm::Numbered => {
                if marked.contains(folder) {
                    found.push((folder.to_owned(), false));
                }
            }
            Ok(_) => found.push((folder.to_owned(), true)),
            // The format's own folders, and unrelated ones.
            Err(_) => {}
        }
    }
    sort_by(&mut found, Ord::cmp);
    found.dedup();
    found
}

/// The delete and update commits. Commits inside a consolidated file count even if an ignore file lists them.
fn deletes(listing: &Listing, lists: &CommitLists<'_>, window: Window) -> Vec<DeleteRef> {
    let mut found = BTreeMap::new();
    for name in files(&listing.commits).filter(|n| commits::holds_condition(n)) {
        found.insert(join(COMMITS_DIR, name), DeleteSource::File);
    }
    for (file, commit) in &lists.consolidated {
        if let Some(range) = commit.embedded.clone() {
            found.insert(
                commit.path.to_string(),
                DeleteSource::Embedded {
                    path: (*file).to_owned(),
                    range,
                },
            );
        }
    }
    let in_time = |(path, source): (String, DeleteSource)| {
        let name = TimestampedName::parse(last_part(&path)).ok()?;
        contains(window, &name).then_some(DeleteRef {
            time_ms: name.start_ms,
            path,
            source,
        })
    };
    let mut deletes: Vec<_> = found.into_iter().filter_map(in_time).collect();
    sort_by_number(&mut deletes, |d| d.time_ms);
    deletes
}

fn metadata(listing: &Listing, lists: &CommitLists<'_>, window: Window) -> Vec<String> {
    metadata_names(
        &listing.meta,
        &lists.replaced(|path| path.starts_with(META_DIR), |name| contains(window, name)),
        window,
    )
    .into_iter()
    .map(|name| join(META_DIR, &name))
    .collect()
}

/// The names among `entries` that are in the window and not `replaced`, oldest first. Used for metadata files and group
/// details.
pub(super) fn metadata_names(entries: &[Entry], replaced: &HashSet<&str>, window: Window) -> Vec<String> {
    let timed = |name: &str| {
        let parsed = TimestampedName::parse(name).ok().filter(|n| contains(window, n))?;
        Some((parsed.start_ms, name.to_owned()))
    };
    let own = |name: &&str| !name.contains('.') && !replaced.contains(name);
    let mut found: Vec<_> = files(entries).filter(own).filter_map(timed).collect();
    sort_by(&mut found, Ord::cmp);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Names of the files among `entries`, without hidden files, which do not belong to the format.
fn files(entries: &[Entry]) -> impl Iterator<Item = &str> {
    let own = |e: &&Entry| matches!(e.kind, EntryKind::File(_)) && !e.name.starts_with('.');
    entries.iter().filter(own).map(|e| e.name.as_str())
}

fn ends_with_any(name: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|s| name.ends_with(s))
}

#[cfg(test)]
mod tests;
