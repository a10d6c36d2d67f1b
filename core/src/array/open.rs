//! Opens an array in up to three rounds of requests: listings; then the schema, consolidated commit files and
//! consolidated fragment metadata; then the other footers. Without consolidated commit files, the last two rounds are
//! one.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use futures_channel::oneshot;
use futures_util::future;
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::deletes::load_deletes;
use super::directory::{Committed, FragmentRef, Listing};
use super::fetch::{RELISTINGS, fetch, list, read_generic};
use super::fragment::Fragment;
use super::group::is_group;
use super::open_mode::OpenMode;
use super::raw_metadata::{RawMetadata, metadata_path};
use super::schemas::{Schemas, load_schema};
use super::snapshot::{Array, Delete, Snapshot};
use super::window::{OpenOptions, Window};
use crate::context::Context;
use crate::error::{AtPath, Error, Result};
use crate::filter::Key;
use crate::format::consolidated_metadata;
use crate::format::fragment::footer::Footer;
use crate::format::name::TimestampedName;
use crate::format::schema::Schema;
use crate::format::version::Version;
use crate::vfs::{IN_FLIGHT, VfsExt, join, last_part, side_by_side};

/// Number of bytes to read from the end of a fragment metadata file: enough for the footer, and for all of a small
/// file.
const TAIL_BYTES: u64 = 64 << 10;
/// Schema file of a key-value store, a kind of object in TileDB 1.
const KEY_VALUE_SCHEMA: &str = "__kv_schema.tdb";

impl Array {
    /// Opens the array at `path` in the store of `context`. Uses a manifest that the store has already read;
    /// [`Array::at`] reads it again.
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
    /// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
    /// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 1, 2, 3, 4, 5, 6, 7]) };
    /// # array.write(cells, &at(10)).await?;
    /// // Everything that was written, and the state at time 5, before the first write.
    /// let now = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// let past = Array::open(&context, "line", &OpenOptions { window: Window::at(5), key: None }).await?;
    /// assert_eq!((now.fragments().len(), past.fragments().len()), (1, 0));
    /// assert_eq!(now.non_empty_domain(), Some(vec![ScalarRange::new(0, 7)]));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no array. [`Error::Key`] without the right key. [`Error::Corrupt`] and
    /// [`Error::Io`] name the file.
    pub async fn open(context: &Context, path: &str, options: &OpenOptions) -> Result<Self> {
        Self::open_counting(context, path, options, OpenMode::Visible).await
    }

    /// Opens the array to verify its files rather than to read cells. Includes fragments that were consolidated but not
    /// vacuumed. Excludes fragments with damaged metadata, and returns their errors.
    ///
    /// # Errors
    /// Same as [`Array::open`], except errors about a single fragment.
    pub async fn open_to_verify(context: &Context, path: &str, options: &OpenOptions) -> Result<(Self, Vec<Error>)> {
        let damaged = Mutex::default();
        let array = Self::open_counting(context, path, options, OpenMode::All(&damaged)).await?;
        Ok((array, damaged.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    async fn open_counting(context: &Context, path: &str, options: &OpenOptions, which: OpenMode<'_>) -> Result<Self> {
        let mut listing = list(context, path).await?;
        for _ in 0..RELISTINGS {
            let opened = Self::open_listed(context, path, options, &listing, which).await;
            let lacks_files = matches!(opened, Err(Error::NotFound { .. })) || which.lacks_files();
            if !listing.is_array() || !lacks_files {
                return opened;
            }
            // A vacuum may have removed replaced fragments; the next listing has the consolidated ones.
            context.vfs.invalidate().await?;
            let now = list(context, path).await?;
            if now == listing {
                return Self::open_without_vacuumed(context, path, options, (listing, which), opened).await;
            }
            listing = now;
        }
        Self::open_listed(context, path, options, &listing, which).await
    }

    pub(super) async fn open_listed(
        context: &Context,
        path: &str,
        options: &OpenOptions,
        listing: &Listing,
        which: OpenMode<'_>,
    ) -> Result<Self> {
        which.begin();
        let absent = || {
            if listing.root.iter().any(|e| e.name == KEY_VALUE_SCHEMA) {
                let why =
                    "a key-value store of TileDB 1, which TileDB 2.0 dropped; read it with TileDB-Py 0.5 or older";
                return Error::Unsupported(format!("{path}: {why}"));
            }
            Error::not_found(
                path,
                match is_group(&listing.root) {
                    true => "this is a group, not an array; open one of its members",
                    false => {
                        "there is no array at this path; check the path; if it is a folder of arrays, name one of them"
                    }
                },
            )
        };
        listing.check_kinds(path)?;
        let schema_name = listing
            .schema_at(options.window)
            .filter(|_| listing.is_array())
            .ok_or_else(absent)?;
        let schema_name = last_part(&schema_name).to_owned();
        let key = options.key.as_ref();
        let (sender, receiver) = oneshot::channel();
        let schema = async {
            let schema = load_schema(context, path, &schema_name, key).await?;
            // The receiver is dropped if the result does not depend on the schema.
            let _ = sender.send(!schema.is_dense());
            Ok(schema)
        };
        let sparse = async { receiver.await.unwrap_or(false) };
        let found = find(context, path, (listing, which), options.window, sparse, key);
        let (schema, found) = future::try_join(schema, found).await?;
        // Fragments that name no schema were written when the array had only one.
        let schemas = listing.schemas();
        let oldest = schemas.first().map_or("", |s| last_part(s));
        let nameless = found.fragments.iter().any(|(f, _)| !f.version.has_schema_folder());
        let mut schemas = Schemas::new(context, path, key, (&schema_name, &schema));
        schemas.load(if nameless { vec![oldest] } else { Vec::new() }).await?;
        let first = Arc::clone(schemas.get(oldest));
        let deletes = if schema.is_dense() { Vec::new() } else { found.deletes? };
        let (mut refs, mut raw, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (i, (f, fetched)) in found.fragments.into_iter().enumerate() {
            raw.push(match at_hand(&f, fetched, &first) {
                Ok(near) => Some(near),
                Err(tail) => {
                    rest.push((i, tail));
                    None
                }
            });
            refs.push(f);
        }
        let mut far = Vec::new();
        for (i, tail) in rest {
            let load = load_raw(context, path, &refs[i], tail, &first, key);
            let is_replaced = i >= found.counted;
            let explained = move |e: Error| if is_replaced { half_vacuumed(e) } else { e };
            far.push(async move { Ok::<_, Error>((i, which.or_skip(load.await.map_err(explained))?.flatten())) });
        }
        let mut far = stream::iter(far).buffered(IN_FLIGHT);
        while let Some((i, loaded)) = far.try_next().await? {
            raw[i] = loaded;
        }
        drop(far);
        let fragments: Vec<(FragmentRef, RawMetadata)> =
            refs.into_iter().zip(raw).filter_map(|(f, r)| Some((f, r?))).collect();

        let fragments = decode_fragments(&mut schemas, oldest, fragments, which).await?;
        Ok(Self(Arc::new(Snapshot {
            context: context.clone(),
            path: path.to_owned(),
            options: options.clone(),
            schema,
            schema_name,
            oldest_schema: oldest.to_owned(),
            fragments,
            deletes,
            metadata_files: found.metadata,
            enumerations: Mutex::default(),
            axis_values: Mutex::default(),
            fingerprint: OnceLock::new(),
        })))
    }

    /// Opens the same array in another window of time, as the store is now.
    ///
    /// # Errors
    /// Same as [`Array::open`].
    pub async fn at(&self, window: Window) -> Result<Self> {
        let options = OpenOptions {
            window,
            ..self.0.options.clone()
        };
        self.0.context.vfs.invalidate().await?;
        Self::open(&self.0.context, &self.0.path, &options).await
    }
}

/// The contents of an array, apart from its schema.
struct ArrayContents {
    /// The fragments, visible ones first, then replaced ones, each with the part of its metadata that was fetched.
    fragments: Vec<(FragmentRef, FetchedMetadata)>,
    /// The number of visible fragments.
    counted: usize,
    /// The files of array metadata.
    metadata: Vec<String>,
    /// The deletes. Ignored for dense arrays, even if they cannot be read.
    deletes: Result<Vec<Delete>>,
}

/// The part of a fragment's metadata that was fetched before the schema was known.
enum FetchedMetadata {
    /// Its footer, from consolidated fragment metadata.
    Footer(Bytes),
    /// The end of its metadata file.
    Tail(Tail),
    /// Nothing, because its format version has no footer.
    Nothing,
}

/// The size of a file, and the bytes at its end.
type Tail = Result<(u64, Bytes)>;

/// Finds what is visible in a window and fetches what is needed to open it. The first round reads consolidated commit
/// files and consolidated fragment metadata. The second reads deletes and the ends of the other metadata files.
async fn find(
    context: &Context,
    path: &str,
    (listing, which): (&Listing, OpenMode<'_>),
    window: Window,
    sparse: impl Future<Output = bool>,
    key: Option<&Key>,
) -> Result<ArrayContents> {
    let (names, consolidated) = (listing.to_fetch(), listing.consolidated_metadata());
    let (lists, consolidated) = future::try_join(
        fetch(context, path, &names),
        load_consolidated(context, path, &consolidated, key),
    )
    .await?;
    let committed = Committed::read(listing, &lists)?;
    // Usually the same fragments are visible for dense and sparse arrays, so the schema is not awaited.
    let sparse = committed.straddles(window) && sparse.await;
    let mut visible = committed.visible(window, sparse)?;
    let counted = visible.fragments.len();
    if matches!(which, OpenMode::All(_)) {
        visible.fragments.append(&mut visible.replaced);
    }
    let footers: Vec<Option<Bytes>> = visible
        .fragments
        .iter()
        .map(|f| consolidated.get(f.name.as_bytes()).cloned())
        .collect();
    let has_tail = |f: &FragmentRef, footer: &Option<Bytes>| f.version.has_footer() && footer.is_none();
    let with_tails = visible
        .fragments
        .iter()
        .zip(&footers)
        .filter(|(f, footer)| has_tail(f, footer));
    let paths: Vec<String> = with_tails.map(|(f, _)| metadata_path(path, f)).collect();
    let (tails, deletes) = future::join(
        context.vfs.read_tails(&paths, TAIL_BYTES),
        load_deletes(context, path, &visible.deletes, &lists, key),
    )
    .await;
    let mut tails = tails.into_iter();
    let fetched = |(f, footer): (FragmentRef, Option<Bytes>)| {
        let tail = if has_tail(&f, &footer) { tails.next() } else { None };
        let fetched = footer.map(FetchedMetadata::Footer).or(tail.map(FetchedMetadata::Tail));
        (f, fetched.unwrap_or(FetchedMetadata::Nothing))
    };
    Ok(ArrayContents {
        fragments: visible.fragments.into_iter().zip(footers).map(fetched).collect(),
        counted,
        metadata: visible.metadata,
        deletes,
    })
}

/// Decodes the metadata of fragments with their schemas. Fragments that name no schema have the `oldest`.
///
/// # Errors
/// A schema or the metadata of a fragment is damaged.
pub(super) async fn decode_fragments(
    schemas: &mut Schemas<'_>,
    oldest: &str,
    fragments: Vec<(FragmentRef, RawMetadata)>,
    which: OpenMode<'_>,
) -> Result<Vec<Arc<Fragment>>> {
    let array = schemas.array();
    let mut names = BTreeSet::new();
    for (f, raw) in &fragments {
        // Errors are reported below, when the fragment is decoded.
        names.extend(raw.schema_name(array, f).ok().map(|name| name.unwrap_or(oldest)));
    }
    schemas.load(names).await?;
    let cpu = schemas.cpu_for(fragments.len());
    let fragments = cpu.try_map_owned(fragments, |(f, raw)| {
        let made = raw
            .schema_name(array, &f)
            .map(|name| Arc::clone(schemas.get(name.unwrap_or(oldest))));
        which.or_skip(made.and_then(|own| raw.into_fragment(array, f, &own).map(Arc::new)))
    })?;
    Ok(fragments.into_iter().flatten().collect())
}

/// Explains a missing file of a fragment that was consolidated: most likely a vacuum was interrupted.
fn half_vacuumed(error: Error) -> Error {
    match error {
        Error::NotFound { path, .. } => Error::not_found(
            path,
            "a consolidated fragment replaces it, and an interrupted vacuum may have removed it; run `hyperslab vacuum` to \
             finish, or restore the file from a backup to read times before the consolidation",
        ),
        other => other,
    }
}

/// Consolidated footers by fragment name. Both are slices of the same payload.
type Consolidated = HashMap<Bytes, Bytes>;

async fn load_consolidated(
    context: &Context,
    array: &str,
    files: &[String],
    key: Option<&Key>,
) -> Result<Consolidated> {
    let load = |name: &String| {
        let path = join(array, name);
        async move {
            let payload = Bytes::from(read_generic(context, &path, key).await?);
            let list = consolidated_metadata::decode(&payload).at(&path)?;
            let names = list.iter().map(|f| last_part(f.name.trim_end_matches('/')));
            // libtiledb miscounts the sizes of footers of older versions, so later footers are not at their listed
            // offsets. Such a file is ignored, because every fragment has its own footer too.
            let displaced = |(name, range): (&str, &Range<usize>)| {
                let version = TimestampedName::parse(name).and_then(|n| n.version());
                let footer = payload.get(range.clone()).unwrap_or(&[]);
                version.is_ok_and(|v| !v.has_dimension_files() || !footer.starts_with(&v.number().to_le_bytes()))
            };
            if names.clone().zip(list.iter().map(|f| &f.range)).any(displaced) {
                return Ok(Vec::new());
            }
            let found = names.zip(&list).map(|(name, f)| {
                let name = payload.slice_ref(name.as_bytes());
                (name, payload.slice(f.range.clone()))
            });
            Ok::<_, Error>(found.collect())
        }
    };
    let mut out = Consolidated::new();
    for (name, footer) in side_by_side(files.iter().map(load)).await?.into_iter().flatten() {
        out.entry(name).or_insert(footer);
    }
    Ok(out)
}

/// Uses what was fetched of a fragment's metadata, if it is sufficient. Otherwise returns the end of the file, if that
/// was fetched.
fn at_hand(f: &FragmentRef, fetched: FetchedMetadata, latest: &Schema) -> Result<RawMetadata, Option<Tail>> {
    let (size, bytes) = match fetched {
        FetchedMetadata::Footer(footer) => return Ok(RawMetadata::consolidated(footer)),
        FetchedMetadata::Tail(Ok(tail)) => tail,
        FetchedMetadata::Tail(failed) => return Err(Some(failed)),
        FetchedMetadata::Nothing => return Err(None),
    };
    let start = size.saturating_sub(bytes.len() as u64);
    match Footer::locate(f.version, latest, size, &bytes) {
        Ok(footer) if start <= footer.start => Ok(RawMetadata::tail(start, bytes, footer)),
        _ => Err(Some(Ok((size, bytes)))),
    }
}

/// Reads the metadata of a fragment if what was fetched is not sufficient. `None` for the remains of a failed write.
async fn load_raw(
    context: &Context,
    array: &str,
    f: &FragmentRef,
    tail: Option<Tail>,
    latest: &Schema,
    key: Option<&Key>,
) -> Result<Option<RawMetadata>> {
    let read = async {
        if let Some(tail) = tail {
            return locate_footer(context, &metadata_path(array, f), (f.version, latest), tail?).await;
        }
        let (folder, path) = (join(array, &f.path), metadata_path(array, f));
        let (payload, files) = future::try_join(read_generic(context, &path, key), context.vfs.list(&folder)).await?;
        Ok(RawMetadata::Legacy {
            payload,
            dense: !files.iter().any(|e| e.name == "__coords.tdb"),
        })
    };
    match read.await {
        Ok(raw) => Ok(Some(raw)),
        Err(Error::NotFound { .. }) if f.unmarked => Ok(None),
        Err(e) => Err(e),
    }
}

/// The end of the metadata file at `path`, starting at the footer or before it.
async fn locate_footer(
    context: &Context,
    path: &str,
    (version, schema): (Version, &Schema),
    (size, mut bytes): (u64, Bytes),
) -> Result<RawMetadata> {
    let footer = Footer::locate(version, schema, size, &bytes).at(path)?;
    let wanted = size.saturating_sub(footer.start);
    if wanted > bytes.len() as u64 {
        bytes = context.vfs.read_tail(path, wanted).await?.1;
    }
    let start = size.saturating_sub(bytes.len() as u64);
    Ok(RawMetadata::tail(start, bytes, footer))
}

/// Reads the footer in the fragment's own metadata file, even if the fragment was opened from consolidated metadata.
/// The format version must have footers.
pub(crate) async fn own_footer(context: &Context, fragment: &Fragment) -> Result<Footer> {
    let (path, kind) = (fragment.metadata_path(), (fragment.version, &*fragment.schema));
    let tail = context.vfs.read_tail(&path, TAIL_BYTES).await?;
    let raw = locate_footer(context, &path, kind, tail).await?;
    Footer::decode(raw.footer(), &fragment.schema, fragment.version).at(&path)
}
