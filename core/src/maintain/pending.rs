//! Merges that are being committed. A fragment and the list of what it replaces are two files: a process that is killed
//! between them leaves an array whose duplicates count twice. A hidden file names both before, so that the next
//! consolidation puts the list.

use bytes::Bytes;

use super::catalog::{Catalog, commit_of};
use crate::array::Array;
use crate::error::Result;
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::vfs::{Lock, join};
use crate::write::commit::put;

/// What the hidden files are called, around the name of the list in the commit folder.
const PREFIX: &str = ".hyperslab-";
const SUFFIX: &str = ".merge";

/// A merge between its first file and its last.
#[derive(Debug)]
pub(super) struct Pending(Option<String>);

impl Pending {
    /// Notes that fragments are to be committed whose list, `name` in the commit folder, is `list`. Only where a lock tells
    /// whether the process that left a note is alive, and readers would see duplicates.
    pub(super) async fn note(
        array: &Array,
        name: &str,
        list: &[u8],
        lock: Option<&dyn Lock>,
        sync: bool,
    ) -> Result<Self> {
        let schema = array.schema();
        let in_folder = schema.version.for_new_fragments().has_commit_folder();
        if lock.is_none() || schema.is_dense() || !schema.allows_duplicates || !in_folder {
            return Ok(Self(None));
        }
        let path = format!("{PREFIX}{name}{SUFFIX}");
        put(array, &path, list.to_vec(), sync).await?;
        Ok(Self(Some(path)))
    }

    /// Removes the note.
    pub(super) async fn done(self, array: &Array) {
        if let Self(Some(path)) = self {
            // What is left says what is so: it is removed by the next consolidation.
            let _ = array.context().vfs.remove(&join(array.path(), &path)).await;
        }
    }
}

/// Ends the merges that dead processes have left between their commit and their list. The caller holds the lock of
/// those who merge.
pub(super) async fn finish(array: &Array, sync: bool) -> Result<()> {
    let vfs = &array.context().vfs;
    let entries = vfs.list(array.path()).await?;
    let names = entries.iter().map(|e| e.name.as_str());
    let pending = names.filter_map(|n| Some((n, n.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?)));
    let pending: Vec<(&str, &str)> = pending.collect();
    if pending.is_empty() {
        return Ok(());
    }
    let catalog = Catalog::load(array).await?;
    for (note, list) in pending {
        let note = join(array.path(), note);
        let path = format!("{COMMITS_DIR}/{list}");
        let fragment = join(FRAGMENTS_DIR, list.trim_end_matches(".vac"));
        let listed = catalog.vacuum.iter().any(|(known, _)| *known == path);
        if catalog.is_committed(&commit_of(&fragment)) && !listed {
            let bytes: Bytes = vfs.read_all(&note).await?;
            put(array, &path, bytes.to_vec(), sync).await?;
        }
        vfs.remove(&note).await?;
    }
    Ok(())
}
