//! Everything that the commit folder says, whatever the window of time: what maintenance works on.

use std::collections::BTreeSet;

use crate::array::open::RELISTINGS;
use crate::array::{Array, directory};
use crate::error::{AtPath, Error, Result};
use crate::format::commits::{self, COMMITS_DIR, ConsolidatedCommit, FRAGMENTS_DIR, folder_of};
use crate::format::name::TimestampedName;
use crate::format::version::Version;
use crate::vfs::{Entry, EntryKind, join, last_part, side_by_side};
use bytes::Bytes;

/// The commits of an array. All paths are below the array.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// Commits with a file of their own: `__commits/….wrt`, `__commits/….del`, and `….ok` in the root.
    pub(super) own: BTreeSet<String>,
    /// Consolidated commits by file.
    pub(super) consolidated: Vec<Consolidated>,
    /// Ignore files, each with the commits it names.
    pub(super) ignore_files: Vec<(String, Vec<String>)>,
    /// All commits that ignore files name.
    pub(super) ignored: BTreeSet<String>,
    /// Vacuum files of fragments, each with the folders it lists.
    pub(super) vacuum: Vec<(String, Vec<String>)>,
    /// Folders of fragments, committed or not.
    pub(super) folders: BTreeSet<String>,
}

/// A file of consolidated commits.
#[derive(Debug)]
pub(super) struct Consolidated {
    pub(super) path: String,
    pub(super) commits: Vec<ConsolidatedCommit<'static>>,
    pub(super) bytes: Bytes,
}

impl Catalog {
    /// Reads the commit folder, and in the root what older versions keep there.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Corrupt`] for a damaged list.
    pub(super) async fn load(array: &Array) -> Result<Self> {
        for _ in 0..RELISTINGS {
            // A list that went away since the listing was somebody else's to vacuum. What took its place
            // stands in the next listing; without it, what the list ignored would seem to count.
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
        // After the commits: a vacuum removes a fragment's commit before its folder.
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

    /// Whether the commit at `path` counts.
    pub(super) fn is_committed(&self, path: &str) -> bool {
        self.own.contains(path) || (self.in_consolidated(path) && !self.ignored.contains(path))
    }

    /// Whether a consolidated file lists the commit at `path`.
    pub(super) fn in_consolidated(&self, path: &str) -> bool {
        self.consolidated
            .iter()
            .any(|c| c.commits.iter().any(|commit| commit.path == path))
    }

    /// Whether nothing is left of the fragment that is committed by the file at `path`, neither its marker nor its folder.
    pub(super) fn is_gone(&self, path: &str) -> bool {
        !self.own.contains(path) && folder_of(path).is_some_and(|folder| !self.folders.contains(&folder))
    }

    /// Commits that consolidated files list though a vacuum has removed the fragment: it ran while the list was written.
    ///
    /// A fragment that is gone counts as vacuumed only if a merged fragment covers its time. Any other was lost.
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

    /// Ignore files that no consolidated file needs, but for those of `without`, and whose fragments are gone: until
    /// then a list of commits may still be written from what was there before.
    pub(super) fn needless_ignore_files(&self, without: &[String]) -> Vec<String> {
        let kept = self.consolidated.iter().filter(|c| !without.contains(&c.path));
        let needed: BTreeSet<&str> = kept.flat_map(|c| &c.commits).map(|c| c.path.as_ref()).collect();
        let is_over = |line: &String| folder_of(line).is_none() || self.is_gone(line);
        let is_needless = |line: &String| !needed.contains(line.as_str()) && is_over(line);
        let files = self.ignore_files.iter();
        let needless = files.filter(|(_, lines)| lines.iter().all(is_needless));
        needless.map(|(path, _)| path.clone()).collect()
    }

    /// Folders of all committed fragments, replaced or not.
    pub(super) fn fragments(&self) -> BTreeSet<String> {
        let commits = self.consolidated.iter().flat_map(|c| &c.commits);
        let listed = commits.map(|c| c.path.as_ref());
        let counting = listed.filter(|path| !self.ignored.contains(*path));
        let own = self.own.iter().map(String::as_str);
        own.chain(counting).filter_map(folder_of).collect()
    }
}

/// The folders of fragments among the entries of `dir`, below the array.
fn folders<'a>(entries: &'a [Entry], dir: &'a str) -> impl Iterator<Item = String> + 'a {
    let names = entries
        .iter()
        .filter(|e| e.kind == EntryKind::Dir)
        .map(|e| e.name.as_str());
    let timed = names.filter(|name| TimestampedName::parse(name).is_ok());
    timed.map(move |name| join(dir, name))
}

/// The commit of the fragment in `folder`.
pub(super) fn commit_of(folder: &str) -> String {
    if folder.contains('/') {
        format!("{COMMITS_DIR}/{}.wrt", last_part(folder))
    } else {
        format!("{folder}.ok")
    }
}

/// The name of an ignore file is of the library's version, not the array's.
pub(super) const IGNORE_VERSION: Version = Version::CURRENT;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_folders_belong_together() {
        for commit in ["__commits/__1_1_u_22.wrt", "__1_1_u_9.ok"] {
            assert_eq!(commit_of(&folder_of(commit).unwrap()), commit);
        }
        assert_eq!(folder_of("__commits/__1_1_u_22.del"), None);
    }
}
