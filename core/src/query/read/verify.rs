//! Reads every tile of every fragment to find damage early.

use std::sync::Arc;

use crate::array::index::Section;
use crate::array::open::own_footer;
use crate::array::sections::load_all;
use crate::array::{Array, Fragment};
use crate::column::Column;
use crate::context::Context;
use crate::error::{Error, Malformed, Result};
use crate::format::enumeration::Enumeration;
use crate::format::folders::META_DIR;
use crate::format::fragment::slots::FieldId;
use crate::query::merge::layer::check_box;
use crate::query::read::statistics::Statistics;
use crate::query::tile::{FetchList, StoredField, TileRef, split_coordinates};
use crate::schema_json::value::cell_text;
use crate::vfs::join;

/// Tiles to read and decode at a time.
const TILES_AT_ONCE: u64 = 16;

/// The report of [`Array::verify`] on one file.
#[derive(Debug)]
pub struct Finding {
    /// The file's path from the root of the store. If a field has several files, this is the first.
    pub path: String,
    /// The error found in the file; `None` if it is intact.
    pub error: Option<Error>,
    /// Number of decoded tiles.
    pub tiles: u64,
    /// Number of bytes read.
    pub bytes: u64,
    /// The parts of the file that no checksum covers, such as `temp` or `offsets of name`. Damage to them may go
    /// undetected.
    pub without_checksum: Option<String>,
}

impl Finding {
    /// The report on a file that belongs to no field.
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
    /// Reads every tile of every fragment, including fragments of dimension labels, and reports on each file.
    /// Coordinates are compared with the bounding boxes of their tiles, and attributes with the statistics that reads
    /// rely on. [`Finding::without_checksum`] names data that may be damaged without notice.
    ///
    /// If the array is open [with them](Array::open_to_verify), fragments that were replaced by consolidated ones are
    /// read too.
    ///
    /// # Errors
    /// Damage is reported and is not an error. Only failures that prevent the check itself are errors.
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

    /// Verifies everything except other arrays.
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
        let (mut list, mut work) = (FetchList::default(), Vec::new());
        for tile in tiles {
            let tile = TileRef::new(field, tile)?.located()?;
            list.add(&tile);
            work.push(tile);
        }
        let bytes = list.bytes();
        let decoding = self.fetch_tiles(list, self.context().cpu).await?;
        let (cpu, statistics) = (decoding.cpu, Arc::clone(statistics));
        cpu.run(move || {
            decoding.cpu.try_map(&work, |tile| {
                let column = tile.decode(&*decoding.files, decoding.key.as_ref(), &decoding.latest)?;
                check_coordinates(&tile.tile, &column)?;
                statistics.check(&tile.tile, &column)
            })
        })
        .await?;
        Ok(bytes)
    }

    /// Verifies metadata and enumerations, which are not part of a fragment.
    async fn verify_rest(&self, report: &mut dyn FnMut(Finding)) {
        if let Err(error) = self.metadata().await {
            report(Finding::of_file(join(self.path(), META_DIR), Some(error)));
        }
        for e in &self.schema().enumerations {
            let path = join(&join(self.path(), "__schema/__enumerations"), &e.file);
            let found = self.enumeration(&e.name).await;
            let error = found.and_then(|e| check_distinct(&e, &path)).err();
            report(Finding::of_file(path, error));
        }
    }
}

/// Checks that a fragment's own footer matches the consolidated fragment metadata. Readers need the fragment's own file
/// again once the consolidated file is vacuumed.
async fn check_footer(context: &Context, fragment: &Fragment) -> Result<()> {
    if !fragment.index.is_consolidated() || own_footer(context, fragment).await? == *fragment.footer {
        return Ok(());
    }
    Err(Error::Corrupt {
        path: fragment.metadata_path(),
        malformed: Malformed::new("footer", 0, "it differs from the consolidated fragment metadata"),
    })
}

/// Checks that libtiledb can read an enumeration.
fn check_distinct(e: &Enumeration, path: &str) -> Result<()> {
    let Some(i) = e.repeated() else { return Ok(()) };
    Err(Error::invalid(format!(
        "{path}: the enumeration '{}' has the value '{}' twice, so libtiledb cannot read the array; export it to an \
         Arrow file and import that as a new array",
        e.name,
        cell_text(e.values.cell(i), e.values.datatype, e.values.cell)
    )))
}

/// Checks that the coordinates of a sparse tile are inside its bounding box.
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
