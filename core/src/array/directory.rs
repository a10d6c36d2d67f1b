//! Which files of an array's folder count in a window of time: names in, choices out.
//!
//! Opening takes two rounds: list the five folders, then fetch what [`Listing::to_fetch`] names beside
//! the schema; [`visible`] needs both.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use bytes::Bytes;

use super::Window;
use crate::error::{AtPath, Malformed, Result};
use crate::format::commits::{self, COMMITS_DIR, ConsolidatedCommit, FRAGMENTS_DIR};
use crate::format::name::{NameForm, TimestampedName, stem};
use crate::format::version::Version;
use crate::sort::{sort_by, sort_by_number};
use crate::vfs::{Entry, EntryKind, join, last_part};

/// The folder of schemas.
pub const SCHEMA_DIR: &str = "__schema";
/// The folder of enumerations.
pub const ENUMERATIONS_DIR: &str = "__schema/__enumerations";
/// The folder of consolidated fragment metadata.
pub const FRAGMENT_META_DIR: &str = "__fragment_meta";
/// The folder of array and group metadata.
pub const META_DIR: &str = "__meta";
/// The folder of dimension labels.
pub const LABELS_DIR: &str = "__labels";
/// The folder of group details.
pub const GROUP_DIR: &str = "__group";
/// The file that marks a folder as a group.
pub const GROUP_MARKER: &str = "__tiledb_group.tdb";
/// The schema before version 10.
pub const ROOT_SCHEMA: &str = "__array_schema.tdb";

/// The entries of the folders of an array; those that do not exist are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Of the array's own folder.
    pub root: Vec<Entry>,
    /// Of `__schema`.
    pub schema: Vec<Entry>,
    /// Of `__commits`.
    pub commits: Vec<Entry>,
    /// Of `__fragment_meta`.
    pub fragment_meta: Vec<Entry>,
    /// Of `__meta`.
    pub meta: Vec<Entry>,
    /// Commits that lists name though the fragment was vacuumed, so that they do not count.
    pub vacuumed: Vec<String>,
}

/// What counts in a window. Paths are below the array.
#[derive(Debug, Clone, Default)]
pub struct Visible {
    /// The fragments, oldest first; of equal time the greater name counts as later.
    pub fragments: Vec<FragmentRef>,
    /// Fragments that a consolidated one replaces, and that no vacuum has removed yet.
    pub replaced: Vec<FragmentRef>,
    /// The delete commits, oldest first.
    pub deletes: Vec<DeleteRef>,
    /// Files of array metadata, oldest first.
    pub metadata: Vec<String>,
}

/// A fragment by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentRef {
    /// Its folder's name.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// Its format version by its name: for names of versions 3 and 4 this is 4, for those of 1 and 2
    /// it is 2.
    pub version: Version,
    /// The time of its first write, in milliseconds since 1970.
    pub start_ms: u64,
    /// The time of its last write.
    pub end_ms: u64,
    /// Before version 5 nothing marks a fragment as committed but its metadata file: where that does
    /// not exist, the folder is what a failed write left.
    pub unmarked: bool,
}

/// A delete commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRef {
    /// Its path, such as `__commits/…_22.del`: what the lists of processed conditions name.
    pub path: String,
    /// The time of the delete, in milliseconds since 1970.
    pub time_ms: u64,
    /// Where its bytes lie.
    pub source: DeleteSource,
}

/// Where the bytes of a delete commit lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteSource {
    /// In its own file.
    File,
    /// In this range of a consolidated file.
    Embedded {
        /// The consolidated file.
        path: String,
        /// Its bytes.
        range: Range<usize>,
    },
}

impl Listing {
    /// Whether there is an array at all.
    pub fn is_array(&self) -> bool {
        let marks = |e: &Entry| e.name == ROOT_SCHEMA || (e.name == SCHEMA_DIR && e.kind == EntryKind::Dir);
        !self.schema.is_empty() || self.root.iter().any(marks)
    }

    /// Every schema of the array, oldest first.
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
        // By name, as libtiledb does: times of equal length sort as numbers.
        sort_by(&mut own, Ord::cmp);
        root.chain(own).collect()
    }

    /// The schema that results are read with: the last in the window, or the first of all if none
    /// is that old. `None` if there is no array.
    pub fn schema_at(&self, window: Window) -> Option<String> {
        let schemas = self.schemas();
        let in_time = |path: &&String| own_name(path).is_some_and(|name| name.end_ms <= window.end_ms);
        schemas.iter().rev().find(in_time).or(schemas.first()).cloned()
    }

    /// The files that must be read to know what is visible: `.con`, `.ign` and `.vac`.
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

    /// Files of consolidated footers: where two name a fragment, the first counts.
    pub fn consolidated_metadata(&self) -> Vec<String> {
        let own = files(&self.fragment_meta)
            .filter(|n| n.ends_with(".meta"))
            .map(|n| join(FRAGMENT_META_DIR, n));
        let old = files(&self.root).filter(|n| n.ends_with(".meta")).map(str::to_owned);
        own.chain(old).collect()
    }
}

/// What is committed in an array, whenever it was written.
pub struct Committed<'a> {
    listing: &'a Listing,
    lists: Lists<'a>,
    /// Folders of fragments with what their names say; and whether nothing but their metadata marks them.
    fragments: Vec<(String, TimestampedName, bool)>,
}

impl<'a> Committed<'a> {
    /// Reads the names of `listing`. `fetched`: the files that [`Listing::to_fetch`] named, with their bytes.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for a damaged list or name.
    pub fn read(listing: &'a Listing, fetched: &'a [(String, Bytes)]) -> Result<Self> {
        let mut lists = Lists::read(fetched)?;
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

    /// Fragments that consolidated commits alone show, by commit, with the folder and what the name says.
    pub(super) fn listed_only(&self) -> impl Iterator<Item = (&str, String, TimestampedName)> {
        let root: HashSet<&str> = files(&self.listing.root).collect();
        let own: HashSet<&str> = files(&self.listing.commits).collect();
        let is_own = move |path: &str| own.contains(last_part(path)) || root.contains(path);
        let listed = self.lists.commits().filter(move |path| !is_own(path));
        listed.filter_map(|path| Some((path, commits::folder_of(path)?, own_name(path)?)))
    }

    /// What the names of the fragments say whose folder passes `is_there`.
    pub(super) fn names(&self, is_there: impl Fn(&str) -> bool) -> Vec<TimestampedName> {
        let there = self.fragments.iter().filter(|(path, ..)| is_there(path));
        there.map(|(_, name, _)| *name).collect()
    }

    /// Whether it depends on the array being sparse what counts in `window`: it does where a fragment
    /// may have cells within and without.
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

    /// What counts in `window`. `sparse`: the array's schema is sparse.
    ///
    /// # Errors
    /// [`crate::Error::UnsupportedVersion`] for a fragment newer than this release.
    pub fn visible(self, window: Window, sparse: bool) -> Result<Visible> {
        let (listing, lists) = (self.listing, self.lists);
        let rule = Rule { window, sparse };
        let mut fragments = Vec::new();
        for (path, name, unmarked) in self.fragments {
            if rule.admits(&name) {
                fragments.push(FragmentRef {
                    version: name.version().map_err(misnamed).at(&path)?,
                    start_ms: name.start_ms,
                    end_ms: name.end_ms,
                    name: stem(last_part(&path)).to_owned(),
                    unmarked,
                    path,
                });
            }
        }
        let replaced = lists.replaced(|path| !path.starts_with(META_DIR), |name| rule.admits(name));
        sort_by(&mut fragments, |a, b| (a.start_ms, &a.name).cmp(&(b.start_ms, &b.name)));
        if fragments
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.start_ms == b.start_ms))
        {
            // Of equal times those in lists of commits come first, as libtiledb finds them.
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

/// The complaint about a fragment's name, with what helps where the name itself is wrong.
fn misnamed(mut complaint: Malformed) -> Malformed {
    complaint.why += " (if no writer gave this name, move it and its marker in __commits out of the array)";
    complaint
}

/// Whether a merged fragment among `others` covers the time of the fragment called `name`, and so may hold its cells.
pub(crate) fn is_covered(name: &TimestampedName, others: &[TimestampedName]) -> bool {
    let covers = |o: &TimestampedName| o.start_ms <= name.start_ms && name.end_ms <= o.end_ms;
    others.iter().any(|o| o.start_ms < o.end_ms && covers(o))
}

/// When a name counts in a window.
#[derive(Clone, Copy)]
struct Rule {
    window: Window,
    sparse: bool,
}

impl Rule {
    /// Sparse fragments with a timestamp for each cell count where they overlap the window; all
    /// others must lie within it.
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
struct Lists<'a> {
    /// Each consolidated commit, ignored or not, with the file it is in.
    consolidated: Vec<(&'a str, ConsolidatedCommit<'a>)>,
    ignored: HashSet<String>,
    /// Each vacuum file with its lines.
    vacuum: Vec<(&'a str, Vec<String>)>,
}

impl<'a> Lists<'a> {
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

    /// The commits in consolidated files that count.
    fn commits(&self) -> impl Iterator<Item = &str> {
        let paths = self.consolidated.iter().map(|(_, c)| c.path.as_ref());
        paths.filter(|path| !self.ignored.contains(*path))
    }

    /// Names of what counting vacuum files, among those whose path passes `of`, list.
    fn replaced(&self, of: impl Fn(&str) -> bool, counts: impl Fn(&TimestampedName) -> bool) -> HashSet<&str> {
        let counting = self
            .vacuum
            .iter()
            .filter(|(path, _)| of(path) && own_name(path).is_some_and(|n| counts(&n)));
        let lines = counting.flat_map(|(_, lines)| lines);
        lines
            .map(|line| last_part(commits::vacuumed_path(line).trim_end_matches('/')))
            .collect()
    }
}

/// What the last part of a path says, if it is a name with times.
fn own_name(path: &str) -> Option<TimestampedName> {
    TimestampedName::parse(last_part(path)).ok()
}

/// Folders of committed fragments, and whether nothing but their metadata marks them as committed.
fn committed(listing: &Listing, lists: &Lists<'_>) -> Vec<(String, bool)> {
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
            // The known folders, and whatever else lies there.
            Err(_) => {}
        }
    }
    sort_by(&mut found, Ord::cmp);
    found.dedup();
    found
}

/// Delete and update commits; one inside a consolidated file counts even if an ignore file names it.
fn deletes(listing: &Listing, lists: &Lists<'_>, window: Window) -> Vec<DeleteRef> {
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

fn metadata(listing: &Listing, lists: &Lists<'_>, window: Window) -> Vec<String> {
    metadata_names(
        &listing.meta,
        &lists.replaced(|path| path.starts_with(META_DIR), |name| contains(window, name)),
        window,
    )
    .into_iter()
    .map(|name| join(META_DIR, &name))
    .collect()
}

/// The names among `entries` that lie in the window and are not `replaced`, oldest first: metadata
/// files, or group details.
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

/// Names of the files among `entries`; hidden ones are somebody else's.
fn files(entries: &[Entry]) -> impl Iterator<Item = &str> {
    let own = |e: &&Entry| matches!(e.kind, EntryKind::File(_)) && !e.name.starts_with('.');
    entries.iter().filter(own).map(|e| e.name.as_str())
}

fn ends_with_any(name: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|s| name.ends_with(s))
}

#[cfg(test)]
mod tests;
