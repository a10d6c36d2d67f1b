//! Lists the commits at or after a given time, so that a new write can sort after them.

use std::collections::BTreeSet;

use super::fetch::RELISTINGS;
use super::snapshot::Array;
use crate::error::{AtPath, Error, Result};
use crate::format::commits::{self, COMMITS_DIR};
use crate::format::name::times;
use crate::vfs::{VfsExt, join, last_part, side_by_side};

/// Names of the committed fragments and deletes that end at or after `from_ms`. Only reads consolidated commit files
/// that may list such commits.
pub(crate) async fn commits_since(array: &Array, from_ms: u64) -> Result<Vec<String>> {
    array.context().vfs.invalidate().await?;
    for _ in 0..RELISTINGS {
        // A file that a concurrent vacuum removed is replaced in the next listing.
        match commits_since_once(array, from_ms).await {
            Err(Error::NotFound { .. }) => {}
            done => return done,
        }
    }
    commits_since_once(array, from_ms).await
}

async fn commits_since_once(array: &Array, from_ms: u64) -> Result<Vec<String>> {
    let vfs = &array.context().vfs;
    let in_time = |path: &str| times(path).is_some_and(|(_, end_ms)| from_ms <= end_ms);
    let mut paths = Vec::new();
    for dir in ["", COMMITS_DIR] {
        // The root has commits only in old formats.
        if dir.is_empty() && array.schema().version.for_new_fragments().has_commit_folder() {
            continue;
        }
        let entries = vfs.list(&join(array.path(), dir)).await?;
        paths.extend(entries.iter().map(|e| join(dir, &e.name)));
    }
    let ends = |path: &str, suffixes: &[&str]| suffixes.iter().any(|s| path.ends_with(s));
    let is_commit = |path: &str| ends(path, &[".wrt", ".ok", ".del"]) && in_time(path);
    let mut found: BTreeSet<String> = paths.iter().filter(|path| is_commit(path)).cloned().collect();
    if paths.iter().any(|path| path.ends_with(".con") && in_time(path)) {
        let lists = paths
            .iter()
            .filter(|p| p.ends_with(".ign") || (p.ends_with(".con") && in_time(p)));
        let read = lists.map(|path| async move {
            let whole = join(array.path(), path);
            Ok::<_, Error>((vfs.read_all(&whole).await?, whole))
        });
        let (mut listed, mut ignored) = (BTreeSet::new(), BTreeSet::new());
        for (bytes, whole) in side_by_side(read).await? {
            if whole.ends_with(".ign") {
                ignored.extend(commits::decode_lines(&bytes).at(&whole)?);
            } else {
                let commits = commits::decode_consolidated(&bytes).at(&whole)?.into_iter();
                listed.extend(commits.map(|c| c.path.into_owned()));
            }
        }
        found.extend(
            listed
                .into_iter()
                .filter(|path| is_commit(path) && !ignored.contains(path)),
        );
    }
    Ok(found.into_iter().map(|path| last_part(&path).to_owned()).collect())
}
