//! Lists and reads the small files of an array.

use bytes::Bytes;
use futures_util::future;

use super::directory::Listing;
use crate::context::Context;
use crate::error::{AtPath, Result};
use crate::filter::Key;
use crate::format::commits::COMMITS_DIR;
use crate::format::folders::{FRAGMENT_META_DIR, META_DIR, SCHEMA_DIR};
use crate::format::generic_tile;
use crate::vfs::{VfsExt, join, side_by_side};

/// How often to list an array again if listed files are missing.
pub(crate) const RELISTINGS: usize = 8;

/// Lists the folders of the array at `path`.
pub(crate) async fn list(context: &Context, path: &str) -> Result<Listing> {
    let dir = |name: &str| join(path, name);
    let (schema, commits, meta, data) = (dir(SCHEMA_DIR), dir(COMMITS_DIR), dir(FRAGMENT_META_DIR), dir(META_DIR));
    let vfs = &context.vfs;
    let (root, schema, commits, fragment_meta, meta) = future::try_join5(
        vfs.list(path),
        vfs.list(&schema),
        vfs.list(&commits),
        vfs.list(&meta),
        vfs.list(&data),
    )
    .await?;
    Ok(Listing {
        root,
        schema,
        commits,
        fragment_meta,
        meta,
        vacuumed: Vec::new(),
    })
}

/// Reads a file that is a single generic tile, and returns its payload.
pub(crate) async fn read_generic(context: &Context, path: &str, key: Option<&Key>) -> Result<Vec<u8>> {
    let bytes = context.vfs.read_all(path).await?;
    Ok(generic_tile::decode(&bytes, key).at(path)?.0)
}

/// Reads files below `array`, each with its name.
pub(super) async fn fetch(context: &Context, array: &str, names: &[String]) -> Result<Vec<(String, Bytes)>> {
    let read = |name: String| async move {
        let bytes = context.vfs.read_all(&join(array, &name)).await?;
        Ok((name, bytes))
    };
    side_by_side(names.iter().cloned().map(read)).await
}
