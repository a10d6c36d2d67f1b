//! Delete commits, which store the condition of the cells to keep.

use bytes::Bytes;

use super::directory::{DeleteRef, DeleteSource};
use super::snapshot::Delete;
use crate::context::Context;
use crate::error::{AtPath, Error, Result};
use crate::filter::Key;
use crate::format::condition::StoredCondition;
use crate::format::generic_tile;
use crate::vfs::{VfsExt, join, side_by_side};

/// Reads these delete commits. `lists` holds the consolidated commit files, by name, that some of them are embedded in.
///
/// # Errors
/// A file is missing, damaged, or encrypted with another key.
pub(super) async fn load_deletes(
    context: &Context,
    array: &str,
    refs: &[DeleteRef],
    lists: &[(String, Bytes)],
    key: Option<&Key>,
) -> Result<Vec<Delete>> {
    let load = |r: DeleteRef| async move {
        let path = join(array, &r.path);
        let bytes = match &r.source {
            DeleteSource::File => context.vfs.read_all(&path).await?,
            DeleteSource::Embedded { path: list, range } => {
                let list = lists.iter().find(|(name, _)| name == list).map(|(_, bytes)| bytes);
                let bytes = list.filter(|b| range.end <= b.len()).map(|b| b.slice(range.clone()));
                bytes.ok_or_else(|| {
                    Error::not_found(&path, "the consolidated commits file that contains it is missing")
                })?
            }
        };
        let payload = generic_tile::decode(&bytes, key).at(&path)?.0;
        Ok::<_, Error>(Delete {
            keep: StoredCondition::decode(&payload).at(&path)?,
            path: r.path,
            time_ms: r.time_ms,
            stored: Bytes::copy_from_slice(&bytes),
        })
    };
    side_by_side(refs.iter().cloned().map(load)).await
}
