//! Finding tiles as they are stored, for who hands them on rather than decode them.

use crate::array::Array;
use crate::error::Result;
use crate::geometry::Order;
use crate::query::Query;
use crate::query::dense::DenseQuery;
use crate::query::dense::plan::Plan;
use crate::query::tile::{Cut, StoredTile, TileRef};
use crate::vfs::direct;

impl Array {
    /// The stored tile that alone has every cell which `query` asks for, of one attribute and within one tile of the
    /// array, if it is cut and packed so. It may hold anything in its other cells.
    ///
    /// `None` where cells are of several fragments or of none, where they are encrypted, and where files cannot be
    /// read in place.
    ///
    /// # Errors
    /// As [`Array::read`].
    pub(crate) async fn stored_tile(&self, query: &Query, cut: &Cut) -> Result<Option<StoredTile>> {
        let Some(direct) = direct(&*self.context().vfs).filter(|_| self.key().is_none()) else {
            return Ok(None);
        };
        let query = self.resolve_dense(query, &|_| Vec::new()).await?;
        match sole(&query)? {
            Some(tile) => tile.stored(direct, cut),
            None => Ok(None),
        }
    }
}

/// The tile of a fragment that alone has all cells of the query's only attribute.
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
