//! Snapshots that travel: an open array as bytes, from which another process opens it without a request.
//!
//! A token holds the inputs of [`Array::open`] that were read from the store, as stored, and the list of fragments.
//! Opening it runs the same decoders on a store that has those files in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;

use super::deletes::load_deletes;
use super::directory::{DeleteRef, DeleteSource, FragmentRef};
use super::fetch::read_generic;
use super::fragment::Fragment;
use super::index::{Missing, Section};
use super::open::decode_fragments;
use super::open_mode::OpenMode;
use super::raw_metadata::{RawMetadata, metadata_path};
use super::schemas::{Schemas, load_schema, schema_path};
use super::sections::{close_ends, read_sections};
use super::snapshot::{Array, Snapshot};
use super::window::{OpenOptions, Window};
use crate::context::Context;
use crate::error::{AtPath, Error, Malformed, Result};
use crate::filter::Key;
use crate::format::data_file::FRAGMENT_METADATA;
use crate::format::folders::ENUMERATIONS_DIR;
use crate::format::fragment::slots::FieldId;
use crate::format::name::TimestampedName;
use crate::format::snapshot_token::{SnapshotToken, TokenFragment, TokenMetadata};
use crate::limits;
use crate::sort::sort_by_number;
use crate::vfs::path::percent_decode;
use crate::vfs::{PreloadedVfs, VfsExt, join, last_part, side_by_side};

/// Options for [`Array::snapshot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Most bytes of indexes to include, as stored: values of enumerations and array metadata first, then R-trees, tile
    /// offsets and statistics. Readers of the token request the others when they need them. Default: 4 MiB.
    pub index_bytes_max: u64,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            index_bytes_max: limits::SNAPSHOT_INDEX_BYTES,
        }
    }
}

impl Array {
    /// This snapshot as a token: bytes from which any process that reaches the same files opens it without listing
    /// folders or reading metadata. See [`Array::from_snapshot`].
    ///
    /// Without indexes, a token usually has about 100 bytes per fragment, or more if the array has many fields. Fragments
    /// of format versions 1 and 2 add their whole metadata. The token holds no cells and no keys, and encrypted data
    /// stays encrypted. Taking it reads the schemas, the metadata of such old fragments, enumerations, array metadata,
    /// and the indexes that are not in memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the token would exceed 2 GiB before compression. [`Error::Io`] and
    /// [`Error::NotFound`] name the file that could not be read.
    pub async fn snapshot(&self, options: &SnapshotOptions) -> Result<Vec<u8>> {
        let mut budget = Budget(options.index_bytes_max);
        let mut files = self.needed_files().await?;
        self.add_small_files(&mut budget, &mut files).await?;
        let fragments = self.token_fragments(&mut budget).await?;
        let token = SnapshotToken {
            name: name_of(self.context(), self.path()),
            window: (self.window().start_ms, self.window().end_ms),
            schema: self.0.schema_name.clone(),
            oldest_schema: self.0.oldest_schema.clone(),
            files,
            metadata: self.0.metadata_files.clone(),
            deletes: self.deletes().iter().map(|d| (d.path.clone(), d.time_ms)).collect(),
            fragments,
        };
        token.encode().at(self.path())
    }

    /// Opens the snapshot that [`Array::snapshot`] returned, without a request. Reads then request tiles, and the parts
    /// of indexes that did not fit into the token. `path` is the array in the store of `context`; `key` is the key of
    /// an encrypted array. The names of the two arrays' folders must agree, if both are known.
    ///
    /// If a fragment of the snapshot has been vacuumed since, reading its cells fails with an error that names it.
    ///
    /// This does not detect another array with the same name; call [`Array::confirm_snapshot`] for that.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// # let columns = vec![("a".to_owned(), Column::from_values(Datatype::Int32, &[0, 1, 2, 3, 4, 5, 6, 7]))];
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns };
    /// # array.write(cells, &WriteOptions { timestamp_ms: 10, seed: [2; 32], sync: false }).await?;
    /// let array = array.at(Window::ALL).await?;
    /// let token = array.snapshot(&SnapshotOptions::default()).await?;
    /// // In another process:
    /// let same = Array::from_snapshot(&context, "line", &token, None).await?;
    /// assert_eq!(same.fingerprint(), array.fingerprint());
    /// assert_eq!(same.read(&Query::default()).await?, array.read(&Query::default()).await?);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a token that is damaged, truncated or of another array, and for anything else
    /// that is not a token. [`Error::Unsupported`] for a token of a newer release. [`Error::Key`] without the right key.
    pub async fn from_snapshot(context: &Context, path: &str, token: &[u8], key: Option<Key>) -> Result<Self> {
        let name = name_of(context, path);
        let shown = if path.is_empty() { &name } else { path };
        let token = SnapshotToken::decode(token).at(shown).map_err(refused)?;
        if !token.name.is_empty() && !name.is_empty() && token.name != name {
            return Err(Error::invalid(format!(
                "{shown}: the snapshot token belongs to another array, {}; take a snapshot of this one with `hyperslab \
                 snapshot`",
                token.name
            )));
        }
        Self::open_token(context, path, token, key).await.map_err(refused)
    }

    /// Checks that the array at this path in the store of `context` is the array of the snapshot, and not another one
    /// with the same name. This takes one request. [`Array::from_snapshot`] makes none, so it compares only the names.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is another array. [`Error::Io`] if the request fails.
    pub async fn confirm_snapshot(&self, context: &Context) -> Result<()> {
        let path = self.path();
        match context.vfs.size(&join(path, &schema_path(&self.0.schema_name))).await {
            Err(Error::NotFound { .. }) => Err(Error::invalid(format!(
                "{path}: the snapshot token belongs to another array with the same name; take a snapshot of this one with \
                 `hyperslab snapshot`"
            ))),
            found => found.map(|_| ()),
        }
    }

    async fn open_token(context: &Context, path: &str, token: SnapshotToken, key: Option<Key>) -> Result<Self> {
        let files = token.files.into_iter().map(|(name, bytes)| (join(path, &name), bytes));
        let files: HashMap<String, Bytes> = files.collect();
        let mut context = context.clone();
        context.vfs = Arc::new(PreloadedVfs::new(Arc::clone(&context.vfs), files));
        let schema = load_schema(&context, path, &token.schema, key.as_ref()).await?;
        let mut schemas = Schemas::new(&context, path, key.as_ref(), (&token.schema, &schema));
        let raw = token
            .fragments
            .into_iter()
            .map(|f| raw(&context, path, f, key.as_ref()));
        let raw = side_by_side(raw).await?;
        let fragments = decode_fragments(&mut schemas, &token.oldest_schema, raw, OpenMode::Visible).await?;
        let deletes = token.deletes.into_iter().map(|(path, time_ms)| DeleteRef {
            path,
            time_ms,
            source: DeleteSource::File,
        });
        let deletes: Vec<DeleteRef> = deletes.collect();
        let deletes = load_deletes(&context, path, &deletes, &[], key.as_ref()).await?;
        let (start_ms, end_ms) = token.window;
        let window = Window { start_ms, end_ms };
        Ok(Self(Arc::new(Snapshot {
            path: path.to_owned(),
            options: OpenOptions { window, key },
            schema,
            schema_name: token.schema,
            oldest_schema: token.oldest_schema,
            fragments,
            deletes,
            metadata_files: token.metadata,
            enumerations: Mutex::default(),
            axis_values: Mutex::default(),
            fingerprint: OnceLock::new(),
            context,
        })))
    }

    /// The files without which the array cannot be opened: its schemas, deletes, and the metadata of its oldest
    /// fragments.
    async fn needed_files(&self) -> Result<Vec<(String, Bytes)>> {
        let own = self.fragments().iter().map(|f| f.footer.schema_name.as_deref());
        let schemas: BTreeSet<&str> = own
            .map(|name| name.unwrap_or(&self.0.oldest_schema))
            .chain([self.0.schema_name.as_str()])
            .collect();
        let legacy = self.fragments().iter().filter(|f| !f.version.has_footer());
        let names = schemas.into_iter().map(schema_path);
        let names = names.chain(legacy.map(|f| join(&self.folder_of(f), FRAGMENT_METADATA)));
        let mut files = self.read_named(names).await?;
        files.extend(self.deletes().iter().map(|d| (d.path.clone(), d.stored.clone())));
        Ok(files)
    }

    /// Adds the files of enumerations and array metadata, in this order, until one does not fit. Readers read the others,
    /// and miss those that were vacuumed since the array was opened.
    async fn add_small_files(&self, budget: &mut Budget, files: &mut Vec<(String, Bytes)>) -> Result<()> {
        if budget.0 == 0 {
            return Ok(());
        }
        let enumerations = self.schema().enumerations.iter();
        let names = enumerations.map(|e| join(ENUMERATIONS_DIR, &e.file));
        let names = names.chain(self.0.metadata_files.iter().cloned());
        let sized = |name: String| async move {
            let size = present(self.context().vfs.size(&join(self.path(), &name)).await)?;
            Ok::<_, Error>(size.map(|size| (name, size)))
        };
        let sized = side_by_side(names.map(sized)).await?.into_iter().flatten();
        let fitting = sized.take_while(|(_, size)| budget.takes(*size));
        let read = |(name, _): (String, u64)| async move {
            let bytes = present(self.context().vfs.read_all(&join(self.path(), &name)).await)?;
            Ok::<_, Error>(bytes.map(|bytes| (name, bytes)))
        };
        files.extend(side_by_side(fitting.map(read)).await?.into_iter().flatten());
        Ok(())
    }

    async fn read_named(&self, names: impl Iterator<Item = String>) -> Result<Vec<(String, Bytes)>> {
        let read = |name: String| async move {
            let bytes = self.context().vfs.read_all(&join(self.path(), &name)).await?;
            Ok((name, bytes))
        };
        side_by_side(names.map(read)).await
    }

    /// The folder of a fragment, relative to the array.
    fn folder_of(&self, fragment: &Fragment) -> String {
        let relative = fragment.path.strip_prefix(self.path()).unwrap_or(&fragment.path);
        relative.trim_start_matches('/').to_owned()
    }

    /// The fragments with the sections of their indexes that fit.
    async fn token_fragments(&self, budget: &mut Budget) -> Result<Vec<TokenFragment>> {
        let mut chosen: Vec<(&Arc<Fragment>, Vec<Missing>)> =
            self.fragments().iter().map(|f| (f, Vec::new())).collect();
        for wanted in [bounds, offsets, statistics] {
            if budget.0 == 0 {
                break;
            }
            let mut found: Vec<Vec<Missing>> = chosen.iter().map(|(f, _)| places(f, wanted)).collect();
            let open = chosen.iter().zip(&mut found);
            side_by_side(open.map(|((f, _), places)| close_ends(self.context(), f, places))).await?;
            for ((_, sections), places) in chosen.iter_mut().zip(found) {
                sections.extend(places.into_iter().filter(|m| budget.takes(bytes_of(m))));
            }
        }
        let fragments: Vec<&Arc<Fragment>> = chosen.iter().map(|(fragment, _)| *fragment).collect();
        let pieces = self.section_bytes(chosen).await?;
        let token = |(fragment, pieces): (&Arc<Fragment>, Vec<(Missing, Bytes)>)| TokenFragment {
            path: self.folder_of(fragment),
            metadata: metadata(fragment, pieces),
        };
        Ok(fragments.into_iter().zip(pieces).map(token).collect())
    }

    /// The bytes of these sections of each fragment, from memory or from the store.
    async fn section_bytes(&self, wanted: Vec<(&Arc<Fragment>, Vec<Missing>)>) -> Result<Vec<Vec<(Missing, Bytes)>>> {
        let (mut found, mut numbers, mut absent) = (Vec::with_capacity(wanted.len()), Vec::new(), Vec::new());
        for (i, (fragment, sections)) in wanted.into_iter().enumerate() {
            let (mut near, mut far) = (Vec::new(), Vec::new());
            for m in sections {
                match fragment.index.at_hand(&m) {
                    Some(bytes) => near.push((m, bytes)),
                    None => far.push(m),
                }
            }
            found.push(near);
            if !far.is_empty() {
                numbers.push(i);
                absent.push((fragment, far));
            }
        }
        let fetched = read_sections(self.context(), &mut absent).await?;
        for ((i, (_, sections)), bytes) in numbers.into_iter().zip(absent).zip(fetched) {
            if let Some(found) = found.get_mut(i) {
                found.extend(sections.into_iter().zip(bytes));
            }
        }
        Ok(found)
    }
}

/// The result of reading a file that may have been vacuumed; `None` if it was.
fn present<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(Error::NotFound { .. }) => Ok(None),
        found => found.map(Some),
    }
}

/// The bytes of indexes that may still be added.
struct Budget(u64);

impl Budget {
    /// Takes these bytes, if there are as many left.
    const fn takes(&mut self, bytes: u64) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// The sections that say which tiles a region meets, and which deletes are done.
fn bounds(fragment: &Fragment) -> Vec<Section> {
    let rtree = (!fragment.dense).then_some(Section::RTree);
    let conditions = fragment.footer.has_delete_metadata.then_some(Section::Conditions);
    rtree.into_iter().chain(conditions).collect()
}

/// The sections that locate tiles.
fn offsets(fragment: &Fragment) -> Vec<Section> {
    fragment.sections(&fragment.stored_fields())
}

/// The sections that say which values tiles hold.
fn statistics(fragment: &Fragment) -> Vec<Section> {
    let attributes = (0..fragment.schema.attributes.len()).map(FieldId::Attribute);
    let slots = attributes.filter_map(|id| fragment.slots.index(id));
    slots
        .flat_map(|i| {
            [
                Section::Mins(i),
                Section::Maxs(i),
                Section::NullCounts(i),
                Section::Sums(i),
            ]
        })
        .collect()
}

/// The places of the `wanted` sections that a reader would load. Sections at an unknown end are left out, except the
/// list of processed deletes, without which no cell can be read.
fn places(fragment: &Fragment, wanted: fn(&Fragment) -> Vec<Section>) -> Vec<Missing> {
    if !fragment.version.has_footer() || fragment.tiles == 0 {
        return Vec::new();
    }
    let sections = fragment.index.not_implied(&wanted(fragment), &fragment.schema);
    let mut places = fragment.index.places(&sections);
    places.retain(|m| m.end.is_some() || m.section == Section::Conditions);
    places
}

fn bytes_of(m: &Missing) -> u64 {
    m.end.map_or(0, |end| end.saturating_sub(m.start))
}

/// The metadata of a fragment for a token, with neighbouring pieces joined.
fn metadata(fragment: &Fragment, mut pieces: Vec<(Missing, Bytes)>) -> TokenMetadata {
    if !fragment.version.has_footer() {
        return TokenMetadata::Legacy(fragment.dense);
    }
    // The end of the last section was unknown before it was read.
    let last = pieces.iter().find(|(m, _)| m.section == Section::Conditions);
    let end = fragment.index.end().or(last.and_then(|(m, _)| m.end));
    sort_by_number(&mut pieces, |(m, _)| m.start);
    let mut joined: Vec<(u64, Vec<u8>)> = Vec::new();
    for (m, bytes) in pieces {
        match joined.last_mut() {
            Some((start, last)) if *start + last.len() as u64 == m.start => last.extend_from_slice(&bytes),
            _ => joined.push((m.start, bytes.to_vec())),
        }
    }
    TokenMetadata::Footer {
        footer: fragment.footer.encode(&fragment.schema).into(),
        end,
        pieces: joined.into_iter().map(|(start, bytes)| (start, bytes.into())).collect(),
    }
}

/// A fragment of a token, as if it had been read.
async fn raw(
    context: &Context,
    array: &str,
    f: TokenFragment,
    key: Option<&Key>,
) -> Result<(FragmentRef, RawMetadata)> {
    crate::vfs::check_path(&f.path)?;
    let name = TimestampedName::parse(last_part(&f.path)).at_with(|| join(array, &f.path))?;
    let fragment = FragmentRef::new(f.path, &name, false)?;
    let raw = match f.metadata {
        TokenMetadata::Footer { footer, end, pieces } => RawMetadata::Footer { footer, end, pieces },
        TokenMetadata::Legacy(dense) => RawMetadata::Legacy {
            payload: read_generic(context, &metadata_path(array, &fragment), key).await?,
            dense,
        },
    };
    Ok((fragment, raw))
}

/// The name of the array's folder; empty if the array is the root of a store that does not know where it is. The
/// folders above may differ between processes that read the same array.
fn name_of(context: &Context, path: &str) -> String {
    let place = context.vfs.location(path).unwrap_or_else(|| path.to_owned());
    let place = place.split(['?', '#']).next().unwrap_or("").trim_end_matches('/');
    percent_decode(last_part(place)).unwrap_or_default()
}

/// An error about a token instead of a file of the array.
fn refused(error: Error) -> Error {
    let Error::Corrupt { path, malformed } = error else {
        return error;
    };
    let Malformed { what, offset, why, .. } = malformed;
    Error::invalid(format!(
        "{path}: the snapshot token cannot be used: {what} at byte {offset}: {why}; take the snapshot again with \
         `hyperslab snapshot`"
    ))
}
