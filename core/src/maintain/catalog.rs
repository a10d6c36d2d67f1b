//! The contents of the commit folder, regardless of the array's time window. Maintenance works on these.

use std::collections::BTreeSet;

use crate::array::fetch::RELISTINGS;
use crate::array::{Array, directory};
use crate::error::{AtPath, Error, Result};
use crate::format::commits::{self, COMMITS_DIR, ConsolidatedCommit, FRAGMENTS_DIR, folder_of};
use crate::format::name::TimestampedName;
use crate::format::version::Version;
use crate::vfs::{Entry, EntryKind, VfsExt, join, last_part, side_by_side};
use bytes::Bytes;

/// The commits of an array. All paths are relative to the array.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// Commits with their own file: `__commits/….wrt`, `__commits/….del`, and `….ok` in the root.
    pub(super) own: BTreeSet<String>,
    /// Consolidated commits, per file.
    pub(super) consolidated: Vec<Consolidated>,
    /// Ignore files, each with the commits it lists.
    pub(super) ignore_files: Vec<(String, Vec<String>)>,
    /// All commits listed in ignore files.
    pub(super) ignored: BTreeSet<String>,
    /// Vacuum files of fragments, each with the folders it lists.
    pub(super) vacuum: Vec<(String, Vec<String>)>,
    /// Folders of fragments, committed or not.
    pub(super) folders: BTreeSet<String>,
}

/// A consolidated commits file.
#[derive(Debug)]
pub(super) struct Consolidated {
    pub(super) path: String,
    pub(super) commits: Vec<ConsolidatedCommit<'static>>,
    pub(super) bytes: Bytes,
}

impl Catalog {
    /// Reads the commit folder, and the commit files in the root that older versions wrote.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Corrupt`] if a list is damaged.
    pub(super) async fn load(array: &Array) -> Result<Self> {
        for _ in 0..RELISTINGS {
            // A concurrent vacuum may remove a list after the listing; the next listing shows its replacement. Skipping
            // the list would make commits count that it ignored.
            match Self::load_once(array).await {
                Err(Error::NotFound { .. }) => {}
                done => return done,
            }
        }
        Self::load_once(array).await
    }

    async fn load_once(array: &Array) -> Result<Self> {
        let vfs = &array.context().vfs;
        let (root, folder) = (array.path().to_owned(), join(array.path(), COMMITS_DIR));
        let (root, folder) = futures_util::future::try_join(vfs.list(&root), vfs.list(&folder)).await?;
        // List the fragments after the commits, because a vacuum removes a fragment's commit before its folder.
        let fragments = vfs.list(&join(array.path(), FRAGMENTS_DIR)).await?;
        let files = |entries: &[Entry], dir: &str| -> Vec<String> {
            let own = entries
                .iter()
                .filter(|e| matches!(e.kind, EntryKind::File(_)) && e.name.starts_with("__"));
            own.map(|e| join(dir, &e.name)).collect()
        };
        let paths = files(&folder, COMMITS_DIR).into_iter().chain(files(&root, ""));
        let mut new = Self {
            folders: folders(&fragments, FRAGMENTS_DIR).chain(folders(&root, "")).collect(),
            ..Self::default()
        };
        let mut lists = Vec::new();
        for path in paths {
            match path.rsplit_once('.').map(|(_, suffix)| suffix) {
                Some("wrt" | "del" | "ok") => drop(new.own.insert(path)),
                Some("con" | "ign" | "vac") => lists.push(path),
                _ => {}
            }
        }
        let read = lists.into_iter().map(|path| async move {
            let whole = join(array.path(), &path);
            let bytes = vfs.read_all(&whole).await?;
            Ok::<_, Error>((path, whole, bytes))
        });
        for (path, whole, bytes) in side_by_side(read).await? {
            if path.ends_with(".con") {
                let commits = commits::decode_consolidated(&bytes).at(&whole)?;
                let commits = commits.into_iter().map(ConsolidatedCommit::into_owned).collect();
                new.consolidated.push(Consolidated { path, commits, bytes });
            } else if path.ends_with(".ign") {
                let lines = commits::decode_lines(&bytes).at(&whole)?;
                new.ignored.extend(lines.iter().cloned());
                new.ignore_files.push((path, lines));
            } else {
                let lines = commits::decode_lines(&bytes).at(&whole)?;
                let folders = lines
                    .iter()
                    .map(|l| commits::vacuumed_path(l).trim_end_matches('/').to_owned());
                new.vacuum.push((path, folders.collect()));
            }
        }
        Ok(new)
    }

    /// Whether the commit at `path` is in force: it has its own file, or is listed and not ignored.
    pub(super) fn is_committed(&self, path: &str) -> bool {
        self.own.contains(path) || (self.in_consolidated(path) && !self.ignored.contains(path))
    }

    /// Whether a consolidated file lists the commit at `path`.
    pub(super) fn in_consolidated(&self, path: &str) -> bool {
        self.consolidated
            .iter()
            .any(|c| c.commits.iter().any(|commit| commit.path == path))
    }

    /// Whether neither the commit file at `path` nor its fragment's folder exists any more.
    pub(super) fn is_gone(&self, path: &str) -> bool {
        !self.own.contains(path) && folder_of(path).is_some_and(|folder| !self.folders.contains(&folder))
    }

    /// Commits listed in consolidated files although a concurrent vacuum has removed the fragment.
    ///
    /// A missing fragment counts as vacuumed only if a merged fragment covers its timestamps. Otherwise it was lost.
    pub(super) fn vacuumed(&self) -> BTreeSet<String> {
        let fragments = self.fragments();
        let there = fragments.iter().filter(|folder| self.folders.contains(*folder));
        let there: Vec<TimestampedName> = there
            .filter_map(|f| TimestampedName::parse(last_part(f)).ok())
            .collect();
        let commits = fragments.iter().map(|folder| commit_of(folder));
        let gone = commits.filter(|commit| self.is_gone(commit));
        let covered = |commit: &String| {
            TimestampedName::parse(last_part(commit)).is_ok_and(|name| directory::is_covered(&name, &there))
        };
        gone.filter(covered).collect()
    }

    /// Ignore files that can be removed: no consolidated file except those in `without` needs them, and their fragments
    /// are gone. Until the fragments are gone, a concurrent writer of a commit list may still have read the old
    /// commits.
    pub(super) fn needless_ignore_files(&self, without: &[String]) -> Vec<String> {
        let kept = self.consolidated.iter().filter(|c| !without.contains(&c.path));
        let needed: BTreeSet<&str> = kept.flat_map(|c| &c.commits).map(|c| c.path.as_ref()).collect();
        let is_over = |line: &String| folder_of(line).is_none() || self.is_gone(line);
        let is_needless = |line: &String| !needed.contains(line.as_str()) && is_over(line);
        let files = self.ignore_files.iter();
        let needless = files.filter(|(_, lines)| lines.iter().all(is_needless));
        needless.map(|(path, _)| path.clone()).collect()
    }

    /// Folders of all committed fragments, including replaced ones.
    pub(super) fn fragments(&self) -> BTreeSet<String> {
        let commits = self.consolidated.iter().flat_map(|c| &c.commits);
        let listed = commits.map(|c| c.path.as_ref());
        let counting = listed.filter(|path| !self.ignored.contains(*path));
        let own = self.own.iter().map(String::as_str);
        own.chain(counting).filter_map(folder_of).collect()
    }
}

/// The fragment folders among the entries of `dir`, relative to the array.
fn folders<'a>(entries: &'a [Entry], dir: &'a str) -> impl Iterator<Item = String> + 'a {
    let names = entries
        .iter()
        .filter(|e| e.kind == EntryKind::Dir)
        .map(|e| e.name.as_str());
    let timed = names.filter(|name| TimestampedName::parse(name).is_ok());
    timed.map(move |name| join(dir, name))
}

/// The commit file of the fragment in `folder`.
pub(super) fn commit_of(folder: &str) -> String {
    if folder.contains('/') {
        format!("{COMMITS_DIR}/{}.wrt", last_part(folder))
    } else {
        format!("{folder}.ok")
    }
}

/// The names of ignore files have the library's format version, not the array's.
pub(super) const IGNORE_VERSION: Version = Version::CURRENT;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_folders_map_to_each_other() {
        for commit in ["__commits/__1_1_u_22.wrt", "__1_1_u_9.ok"] {
            assert_eq!(commit_of(&folder_of(commit).unwrap()), commit);
        }
        assert_eq!(folder_of("__commits/__1_1_u_22.del"), None);
    }
}
