//! Gives decoders the bytes of tiles: extents that were fetched, or else files of a local disk.

use std::sync::Arc;

use crate::array::Array;
use crate::cpu::Cpu;
use crate::error::Result;
use crate::query::tile::fetched::{FetchedExtents, not_fetched};
use crate::query::tile::{Decoding, Extent, FetchList, TileFiles};
use crate::vfs::{ReadAt, Vfs, local_reads, too_short};

/// The bytes of tiles, in memory and on a local disk.
struct Files {
    fetched: FetchedExtents,
    vfs: Arc<dyn Vfs>,
}

impl TileFiles for Files {
    fn open<'a>(&'a self, extent: &'a Extent) -> Result<Box<dyn ReadAt + 'a>> {
        if let Some(file) = self.fetched.open(extent) {
            return Ok(file);
        }
        let (path, range) = (&*extent.path, &extent.range);
        let local = local_reads(&*self.vfs).ok_or_else(|| not_fetched(path, range))?;
        let file = local.open(path)?;
        if range.end > file.size() {
            return Err(too_short(path, range, file.size()));
        }
        Ok(file)
    }
}

impl Array {
    /// The context for decoding tiles whose bytes were fetched. On a local disk, other tiles are read when they are
    /// decoded.
    pub(super) fn decoding(&self, cpu: Cpu, fetched: FetchedExtents) -> Decoding {
        Decoding {
            cpu,
            key: self.key().cloned(),
            latest: Arc::clone(self.schema()),
            cache: Arc::clone(&self.context().cache),
            files: Arc::new(Files {
                fetched,
                vfs: Arc::clone(&self.context().vfs),
            }),
        }
    }

    /// Fetches the bytes of these tiles and returns the context for decoding them.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn fetch_tiles(&self, list: FetchList, cpu: Cpu) -> Result<Decoding> {
        let fetched = self.fetch(&list.extents).await?;
        Ok(self.decoding(cpu, list.into_fetched(fetched)))
    }
}
