//! Finds stored tiles, for callers that pass them on without decoding.

use crate::array::Array;
use crate::cpu::Cpu;
use crate::error::Result;
use crate::geometry::Order;
use crate::query::Query;
use crate::query::dense::DenseQuery;
use crate::query::dense::plan::Plan;
use crate::query::tile::fetched::FetchedExtents;
use crate::query::tile::{Cut, StoredTile, TileRef};
use crate::vfs::local_reads;

impl Array {
    /// The stored tile that alone has every cell of `query`, if it matches `cut`. The query must select one attribute
    /// within one tile of the array. The tile's other cells may have any content.
    ///
    /// Returns `None` if the cells belong to several fragments or to none, if they are encrypted, or if the store does
    /// not support blocking reads.
    ///
    /// # Errors
    /// Those of [`Array::read`].
    pub(crate) async fn stored_tile(&self, query: &Query, cut: &Cut) -> Result<Option<StoredTile>> {
        if local_reads(&*self.context().vfs).is_none() || self.key().is_some() {
            return Ok(None);
        }
        let query = self.resolve_dense(query, &|_| Vec::new()).await?;
        match sole(&query)? {
            Some(tile) => {
                let decoding = self.decoding(Cpu::Inline, FetchedExtents::default());
                tile.stored(&*decoding.files, cut)
            }
            None => Ok(None),
        }
    }
}

/// The fragment tile that alone has all cells of the query's only attribute.
fn sole(query: &DenseQuery) -> Result<Option<TileRef>> {
    let plan = Plan::new(&query.grid, Order::Row, &query.spans, &query.layers)?;
    let plain = query.overlays.is_empty() && query.condition.is_none() && query.attributes.len() == 1;
    let ([tile], true) = (&plan.tiles[..], plain) else {
        return Ok(None);
    };
    let source = tile.sources.last().filter(|_| tile.covered);
    let stored = source.and_then(|s| Some((query.stored.get(s.layer)?.first()?.as_ref()?, s.tile)));
    stored.map(|(field, tile)| TileRef::new(field, tile)).transpose()
}
