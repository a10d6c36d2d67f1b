//! Recovery of interrupted merges. A merged fragment and the list of the fragments it replaces are two files. A process killed
//! between writing them leaves an array with duplicates whose cells count twice. A hidden note is written before both,
//! so that the next consolidation can complete the list.

use bytes::Bytes;

use super::catalog::{Catalog, commit_of};
use crate::array::Array;
use crate::error::Result;
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::vfs::{Lock, VfsExt, join};
use crate::write::commit::{put, put_file};

/// The names of the notes are the name of the list, with this prefix and suffix.
const PREFIX: &str = ".hyperslab-";
const SUFFIX: &str = ".merge";

/// The note of a merge in progress.
#[derive(Debug)]
pub(super) struct Pending(Option<String>);

impl Pending {
    /// Writes a note that fragments will be committed with the vacuum file `name`, whose contents are `list`. Only
    /// needed if the array allows duplicates. Also requires a lock, which shows whether the process that left a note is
    /// still alive.
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
        put_file(array, &path, list.to_vec(), sync).await?;
        Ok(Self(Some(path)))
    }

    /// Removes the note.
    pub(super) async fn done(self, array: &Array) {
        if let Self(Some(path)) = self {
            // If this fails, the note is still correct, and the next consolidation removes it.
            let _ = array.context().vfs.remove(&join(array.path(), &path)).await;
        }
    }
}

/// Completes merges that dead processes left between the commit and the list. The caller holds the consolidation lock.
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
