//! Makes the files and folders at the places of an array.

use std::sync::{Arc, PoisonError};

use super::{View, chunks, coordinates, facts};
use crate::array::Array;
use crate::conventions::stored_condition;
use crate::error::{Error, Result};
use crate::format::enumeration::Enumeration;
use crate::schema_json;
use crate::view::chunk::ZarrChunk;
use crate::view::encode::Format;
use crate::view::hash::hash;
use crate::view::members::Member;
use crate::view::node::{Content, Node, NodeKind};
use crate::view::selection::TableAxes;
use crate::view::slice::Slice;
use crate::view::snapshot::Snapshot;
use crate::view::tiles::Tiles;
use crate::view::tree::ViewPath;
use crate::view::{documents, listed, options, readme, selection, zarr};

/// The most remembered numbers of cells and sizes.
const KNOWN_MAX: usize = 1 << 16;

impl View {
    /// The file or folder at a place of an array.
    pub(super) async fn node(
        &self,
        path: &str,
        snapshot: &Snapshot,
        place: &ViewPath<'_>,
        name: &str,
        now: bool,
    ) -> Result<Option<Node>> {
        let (array, modified) = (&snapshot.array, snapshot.modified_ms);
        let text = |text: String| Some(Node::text(path, modified, text));
        Ok(match place {
            ViewPath::Root
            | ViewPath::Slices
            | ViewPath::Tiles
            | ViewPath::Times
            | ViewPath::Since
            | ViewPath::Fragments => Some(Node::dir(path, modified)),
            ViewPath::TileDir(_, prefix) => Tiles::of(array)?.holds(prefix).then(|| Node::dir(path, modified)),
            ViewPath::Readme => {
                let name = if name.is_empty() { &self.source.name } else { name };
                // The rest of the page is right even if the array's metadata is damaged.
                let facts = facts::of(snapshot).await.ok();
                let summary = facts.map(|facts| facts.summary.clone()).unwrap_or_default();
                text(readme::array_readme(name, array, &summary, now))
            }
            ViewPath::Schema => text(documents::pretty(&schema_json::to_json(
                array.schema(),
                &enumerations(array).await?,
            ))),
            ViewPath::Metadata => text(documents::metadata(&array.metadata().await?)),
            ViewPath::SlicesReadme => text(readme::slices_readme(snapshot)),
            ViewPath::Fragment(name) => {
                let found = snapshot.fragment_of_file(name);
                found.and_then(|f| text(documents::fragment(f, &f.schema)))
            }
            ViewPath::Zarr => Some(Node::dir(path, modified)),
            ViewPath::ZarrArray(Member::GridMapping) | ViewPath::ZarrMeta(Member::GridMapping)
                if !zarr::has_grid_mapping(array.schema(), &facts::of(snapshot).await?.meaning) =>
            {
                None
            }
            ViewPath::ZarrArray(_) => Some(Node::dir(path, modified)),
            ViewPath::ZarrGroup => text(documents::pretty(&zarr::group(array, &*facts::of(snapshot).await?)?)),
            ViewPath::ZarrMeta(member) => text(documents::pretty(&zarr::array(
                array,
                member,
                &*facts::of(snapshot).await?,
            )?)),
            ViewPath::ZarrDir(member, prefix) => {
                let facts = facts::of(snapshot).await?;
                zarr::holds(array, member, prefix, &facts.meaning)?.then(|| Node::dir(path, modified))
            }
            ViewPath::ZarrChunk(member, key) => self.zarr_chunk(path, snapshot, member, key).await?,
            ViewPath::Tile(attribute, tile) => {
                let tiles = Tiles::of(array)?;
                if !tiles.holds(tile) {
                    return Ok(None);
                }
                let slice = Slice::new(snapshot, tiles.selection(attribute, tile), Format::Npy)?;
                Some(self.slice_node(slice).await?)
            }
            ViewPath::MetadataKeys | ViewPath::Overviews => Some(Node::dir(path, modified)),
            ViewPath::MetadataKey(name) => {
                let metadata = array.metadata().await?;
                let mut files = listed::metadata_files(&metadata).into_iter();
                files
                    .find(|(file, _)| file == name)
                    .and_then(|(_, value)| text(documents::metadata_file(value)))
            }
            ViewPath::Thumbnail => match listed::thumbnail(snapshot) {
                Some(slice) => Some(self.slice_node(slice).await?.counted_elsewhere()),
                None => None,
            },
            ViewPath::Slice(text, ending) => {
                let format = Format::from_extension(ending)?;
                let (text, mut options) = options::split(text)?;
                let selection = selection::read(array, text).await?;
                if let Some(condition) = &mut options.condition {
                    array.check_condition(condition).await?;
                    let dataset = facts::dataset(snapshot).await?;
                    *condition = stored_condition(condition, &dataset, array.schema());
                }
                let slice = Slice::with_options(snapshot, selection, format, options)?;
                let is_dense = slice.is_dense();
                let node = self.slice_node(slice).await?;
                Some(if is_dense { node.counted_elsewhere() } else { node })
            }
        })
    }

    async fn zarr_chunk(&self, path: &str, snapshot: &Snapshot, member: &Member, key: &[u64]) -> Result<Option<Node>> {
        if let (Member::Coordinates(dimension), [chunk]) = (member, key) {
            let facts = facts::of(snapshot).await?;
            let found = coordinates::chunk(&snapshot.array, &facts.meaning, *dimension, *chunk).await?;
            return Ok(found.map(|bytes| Node::text(path, snapshot.modified_ms, bytes)));
        }
        if !zarr::has_chunk(&snapshot.array, member, key)? {
            return Ok(None);
        }
        Ok(match ZarrChunk::new(snapshot, member, key)? {
            Some(chunk) => Some(chunks::node(snapshot, chunk).await?),
            None => None,
        })
    }

    async fn slice_node(&self, mut slice: Slice) -> Result<Node> {
        if !slice.is_dense() {
            let cells = self.count(&slice).await?;
            slice = slice.with_cells(cells);
        }
        if slice.format.lists_coordinates() {
            let fields = slice.array().fields(&slice.fields).await?;
            slice = slice.with_fields(fields)?;
            if slice.shows_axis_values() {
                let mut axes = TableAxes::of(slice.array(), &slice.selection).await;
                // A failed request may succeed later, and then the file would have other contents.
                let failed = axes
                    .unused
                    .iter()
                    .position(|(_, error)| matches!(error, Error::Io { .. }));
                if let Some(failed) = failed {
                    return Err(axes.unused.swap_remove(failed).1);
                }
                slice = slice.with_axes(&axes);
            }
        }
        let layout = slice.fixed_layout()?;
        let slice = Arc::new(slice);
        let id = slice.id();
        let (size, content) = match layout {
            Some(layout) => (layout.size, Content::Fixed(Arc::clone(&slice), Arc::new(layout))),
            None => {
                let size = self.known(id, self.contents.streamed_size(id, &slice)).await?;
                (size, Content::Streamed(Arc::clone(&slice)))
            }
        };
        Ok(Node {
            id,
            modified_ms: slice.snapshot.modified_ms,
            kind: NodeKind::File { size },
            stored_bytes: slice.stored_bytes(),
            counted_elsewhere: false,
            facts: slice.facts(),
            content,
        })
    }

    /// The number of cells of a sparse slice.
    async fn count(&self, slice: &Slice) -> Result<u64> {
        let id = hash(&[b"cells", &slice.id().to_le_bytes()]);
        self.known(id, async { slice.array().count(&slice.query()?).await })
            .await
    }

    /// A number that is found by reading the array, by one reader at a time, and remembered.
    async fn known(&self, id: u64, find: impl Future<Output = Result<u64>>) -> Result<u64> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known().get(&id) {
            return Ok(*number);
        }
        let _alone = self.contents.alone(id).await;
        if let Some(number) = known().get(&id) {
            return Ok(*number);
        }
        let number = find.await?;
        let mut known = known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(id, number);
        Ok(number)
    }
}

async fn enumerations(array: &Array) -> Result<Vec<Enumeration>> {
    let mut found = Vec::new();
    for reference in &array.schema().enumerations {
        found.push(Enumeration::clone(&*array.enumeration(&reference.name).await?));
    }
    Ok(found)
}
