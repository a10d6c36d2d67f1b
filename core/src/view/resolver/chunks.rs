//! Finds the source of a chunk of the Zarr view: stored bytes, or cells.

use std::sync::Arc;

use crate::error::Result;
use crate::view::chunk::ZarrChunk;
use crate::view::node::{Content, Node, NodeKind};
use crate::view::shard::Shard;
use crate::view::snapshot::Snapshot;

/// The node of a Zarr chunk. It serves stored bytes unchanged if possible, otherwise it builds the chunk from cells.
///
/// # Errors
/// Errors of the store, and damaged fragment metadata.
pub(super) async fn node(snapshot: &Snapshot, chunk: ZarrChunk) -> Result<Node> {
    let stored = match &chunk.sharding {
        Some(sharding) if chunk.starts_with_slice() => {
            let query = chunk.slice.query()?;
            snapshot.array.stored_tile(&query, &sharding.cut).await?.map(Shard::new)
        }
        _ => None,
    };
    let (id, size, stored_bytes) = match &stored {
        Some(shard) => (chunk.id("shard"), shard.size(), shard.tile_bytes()),
        None => (chunk.id("chunk"), chunk.size(), chunk.slice.stored_bytes()),
    };
    let mut facts = chunk.slice.facts();
    let from = match (&stored, &chunk.sharding) {
        (Some(shard), _) => Some(format!("bytes {:?} of {}", shard.extent.range, shard.extent.path)),
        (None, Some(_)) => Some("made from cells, because no single fragment stores the whole tile".to_owned()),
        (None, None) => None,
    };
    facts.extend(from.map(|from| ("shard", from)));
    let content = match (stored, chunk.layout()?) {
        (Some(shard), _) => Content::Shard(Arc::new(chunk), Arc::new(shard)),
        (None, Some(layout)) => Content::Fixed(Arc::new(chunk.slice), Arc::new(layout)),
        (None, None) => Content::ZarrChunk(Arc::new(chunk)),
    };
    Ok(Node {
        id,
        modified_ms: snapshot.modified_ms,
        kind: NodeKind::File { size },
        stored_bytes,
        counted_elsewhere: true,
        facts,
        content,
    })
}
