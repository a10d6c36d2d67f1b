//! Reads every tile of every fragment, to find damage before somebody needs the data.

use std::sync::Arc;

use crate::array::directory::META_DIR;
use crate::array::index::Section;
use crate::array::open::own_footer;
use crate::array::sections::load_all;
use crate::array::{Array, Fragment};
use crate::column::Column;
use crate::context::Context;
use crate::error::{Error, Malformed, Result};
use crate::format::fragment::slots::FieldId;
use crate::query::read::statistics::Statistics;
use crate::query::sparse::layer::check_box;
use crate::query::tile::{Decoding, StoredField, TileRef, split_coordinates};
use crate::vfs::join;

/// Tiles that are read and decoded in one go.
const TILES_AT_ONCE: u64 = 16;

/// What [`Array::verify`] has to say about one file.
#[derive(Debug)]
pub struct Finding {
    /// The file, from the root of the store; of a field with several files, the first of them.
    pub path: String,
    /// What is wrong with it; `None` where it was read without complaint.
    pub error: Option<Error>,
    /// Tiles that were decoded.
    pub tiles: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// What is stored in the file without any checksum, such as `temp` or `offsets of name`: damage to it may not show.
    pub without_checksum: Option<String>,
}

impl Finding {
    /// A file that is no field's.
    const fn of_file(path: String, error: Option<Error>) -> Self {
        Self {
            path,
            error,
            tiles: 0,
            bytes: 0,
            without_checksum: None,
        }
    }
}

impl Array {
    /// Reads every tile of every fragment, of the array's dimension labels too, and reports on each file. Fragments
    /// that consolidated ones replace are read as well where the array is open [with them](Array::open_to_verify).
    /// Coordinates are compared with the bounding boxes of their tiles, and attributes with the statistics that reads
    /// rely on. [`Finding::without_checksum`] names what may be damaged all the same.
    ///
    /// # Errors
    /// None for damage, which is reported; only what keeps the check itself from going on.
    pub async fn verify(&self, report: &mut dyn FnMut(Finding)) -> Result<()> {
        self.verify_own(report).await;
        for label in self.schema().labels.iter().filter(|l| l.relative && !l.external) {
            match self.open_label(label).await {
                Ok(labels) => labels.verify_own(report).await,
                Err(error) => report(Finding::of_file(join(self.path(), &label.uri), Some(error))),
            }
        }
        Ok(())
    }

    /// Verifies what is not in other arrays.
    async fn verify_own(&self, report: &mut dyn FnMut(Finding)) {
        for fragment in self.fragments() {
            let ids = fragment.stored_fields();
            let fields = ids
                .iter()
                .filter_map(|id| StoredField::new(fragment, *id))
                .map(Arc::new);
            let fields: Vec<_> = fields.map(|field| (Statistics::of(&field), field)).collect();
            let mut sections = fragment.sections(&ids);
            sections.extend(fields.iter().flat_map(|(statistics, _)| statistics.sections(fragment)));
            if !fragment.dense {
                sections.push(Section::RTree);
            }
            let path = fragment.metadata_path();
            let loaded = async {
                load_all(self, &[(Arc::clone(fragment), sections)]).await?;
                check_footer(self.context(), fragment).await
            };
            let loaded = loaded.await;
            let sound = loaded.is_ok();
            report(Finding::of_file(path, loaded.err()));
            if !sound {
                continue;
            }
            for (statistics, field) in fields {
                report(self.verify_field(&field, &Arc::new(statistics)).await);
            }
        }
        self.verify_rest(report).await;
    }

    async fn verify_field(&self, field: &Arc<StoredField>, statistics: &Arc<Statistics>) -> Finding {
        let mut finding = Finding::of_file(field.path().to_owned(), None);
        finding.without_checksum = field.without_checksum(self.key());
        let mut next = 0;
        while next < field.fragment.tiles && finding.error.is_none() {
            let tiles = next..field.fragment.tiles.min(next + TILES_AT_ONCE);
            next = tiles.end;
            let count = tiles.end - tiles.start;
            match self.verify_tiles(field, statistics, tiles).await {
                Ok(bytes) => {
                    finding.bytes += bytes;
                    finding.tiles += count;
                }
                Err(error) => finding.error = Some(error),
            }
        }
        finding
    }

    async fn verify_tiles(
        &self,
        field: &Arc<StoredField>,
        statistics: &Arc<Statistics>,
        tiles: std::ops::Range<u64>,
    ) -> Result<u64> {
        let (mut extents, mut work) = (Vec::new(), Vec::new());
        for tile in tiles {
            let tile = TileRef::new(field, tile)?;
            let start = extents.len();
            extents.extend(tile.extents()?);
            work.push((tile, start..extents.len()));
        }
        let fetched = self.fetch(&extents).await?;
        let bytes = fetched.iter().map(|b| b.len() as u64).sum();
        let decoding: Decoding = self.decoding(self.context().cpu);
        let (cpu, statistics) = (decoding.cpu, Arc::clone(statistics));
        cpu.run(move || {
            decoding.cpu.try_map(&work, |(tile, range)| {
                let parts = fetched.get(range.clone()).unwrap_or(&[]);
                let column = tile.decode(parts, decoding.key.as_ref(), &decoding.latest)?;
                check_coordinates(tile, &column)?;
                statistics.check(tile, &column)
            })
        })
        .await?;
        Ok(bytes)
    }

    /// What is not part of a fragment: metadata and enumerations.
    async fn verify_rest(&self, report: &mut dyn FnMut(Finding)) {
        if let Err(error) = self.metadata().await {
            report(Finding::of_file(join(self.path(), META_DIR), Some(error)));
        }
        for e in &self.schema().enumerations {
            let path = join(&join(self.path(), "__schema/__enumerations"), &e.file);
            report(Finding::of_file(path, self.enumeration(&e.name).await.err()));
        }
    }
}

/// Whether a fragment's own file has the footer that a consolidated one says it has: readers need it again once the
/// consolidated one is vacuumed.
async fn check_footer(context: &Context, fragment: &Fragment) -> Result<()> {
    if !fragment.index.is_consolidated() || own_footer(context, fragment).await? == *fragment.footer {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: fragment.metadata_path(),
        malformed: Malformed::new(
            "footer",
            0,
            "the consolidated fragment metadata say other than the file",
        ),
    })
}

/// Whether the coordinates of a sparse tile are inside its bounding box.
fn check_coordinates(tile: &TileRef, column: &Column) -> Result<()> {
    let fragment: &Fragment = &tile.field.fragment;
    match tile.field.id {
        FieldId::Dimension(d) => check_box(fragment, d, tile.tile, column, tile.field.path()),
        FieldId::Coords => {
            let dims = split_coordinates(column, fragment);
            let mut each = dims.iter().enumerate();
            each.try_for_each(|(d, column)| check_box(fragment, d, tile.tile, column, tile.field.path()))
        }
        _ => Ok(()),
    }
}
