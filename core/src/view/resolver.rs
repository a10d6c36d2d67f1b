//! Opens arrays and groups, and finds the file or folder of a path.

mod chunks;
mod coordinates;
mod facts;
mod nodes;
mod opened;
mod pyramids;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use self::opened::{Object, Seen};
use super::contents::{Contents, MEMORY_BYTES};
use super::folder::{Folder, FolderText};
use super::levels::Pyramid;
use super::node::{DirEntry, Node};
use super::snapshot::Snapshot;
use super::tree::{self, Past, ViewPath};
use super::{documents, listed, readme, zarr};
use crate::array::{Array, Group, ObjectType, OpenOptions, Window, object_type};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::sort::sort_by;

/// The source of a view.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store.
    pub context: Context,
    /// The URL of the store, used to resolve group members with absolute URLs. Empty if the store has none.
    pub url: String,
    /// The path of an array, a group, or a folder of arrays.
    pub path: String,
    /// The time window, and the key of encrypted arrays. [`Window::ALL`] excludes writes in the future.
    pub options: OpenOptions,
    /// The name in READMEs.
    pub name: String,
}

/// An array, or a folder of arrays, as a tree of files.
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
/// use hyperslab::view::View;
///
/// let array = array.at(Window::ALL).await?;
/// let view = View::of_array(&array, "line".to_owned());
/// let csv = view.read_file("slices/a@2:4.csv").await?;
/// assert_eq!(csv, "x,a\n2,2\n3,3\n");
/// let names: Vec<String> = view.list("").await?.into_iter().map(|entry| entry.name).collect();
/// assert!(names.contains(&"slices".to_owned()) && names.contains(&"zarr".to_owned()));
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct View {
    source: Source,
    seen: Mutex<Seen>,
    /// Held while the store is invalidated; other lookups wait for it.
    renewing: futures_util::lock::Mutex<()>,
    contents: Contents,
    /// The largest slice that is listed, in bytes.
    list_max: u64,
    /// The numbers of cells of sparse slices and the sizes of files, by id.
    known: Mutex<HashMap<u64, u64>>,
}

/// The treatment of a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLink {
    Kept,
    Followed,
}

/// The result of resolving a path.
enum Found<'a> {
    Folder(Arc<Folder>),
    /// A file about a folder, and the folder's name; the name is empty at the root.
    FolderText(Arc<Folder>, FolderText, &'a str),
    /// A link's target and the time of the last write.
    Link(String, u64),
    /// The Zarr view of a group with levels.
    Pyramid(Arc<Pyramid>),
    /// Its metadata.
    PyramidText(Arc<Pyramid>),
    /// A place in an array, the array's name, and whether the view shows its current state.
    InArray(Snapshot, ViewPath<'a>, &'a str, bool),
}

impl View {
    /// Creates a view of `source` at `now_ms`, in milliseconds since 1970. Later writes are shown only if a name or the
    /// window of `source` includes them. Reads nothing yet.
    pub fn new(source: Source, now_ms: u64) -> Self {
        let contents = Contents::new(Arc::clone(&source.context.cache), MEMORY_BYTES);
        Self {
            seen: Mutex::new(Seen::new(&source, now_ms, true)),
            renewing: futures_util::lock::Mutex::default(),
            source,
            contents,
            list_max: listed::LIST_MAX,
            known: Mutex::default(),
        }
    }

    /// Lists the files of whole attributes in `slices` if they are at most this large. The default is 64 MiB; 0 lists none.
    #[must_use]
    pub const fn with_list_max(mut self, bytes: u64) -> Self {
        self.list_max = bytes;
        self
    }

    /// Creates a view of an open array. Until [`View::refresh`], later writes and vacuums do not affect it. Names with
    /// a time are resolved in the store.
    pub fn of_array(array: &Array, name: String) -> Self {
        let source = Source {
            context: array.context().clone(),
            url: String::new(),
            path: array.path().to_owned(),
            options: OpenOptions {
                window: array.window(),
                key: array.key().cloned(),
            },
            name,
        };
        let view = Self::new(source, array.window().end_ms);
        let key = (array.path().to_owned(), view.seen().window);
        let object = Object::Array(Snapshot::new(array.clone()));
        view.seen().objects.insert(key, Arc::new(object));
        view
    }

    /// The same view, which takes at most `bytes` of memory for files while it makes them; by default 256 MiB. The parts
    /// that it keeps are in the cache of the source's [`Context`](crate::Context).
    #[must_use]
    pub fn with_memory(self, bytes: u64) -> Self {
        let contents = Contents::new(Arc::clone(&self.source.context.cache), bytes);
        Self { contents, ..self }
    }

    /// The source of the view.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Forgets all opened arrays and folders, so that later lookups show writes until `now_ms`. Existing nodes do not
    /// change.
    pub fn refresh(&self, now_ms: u64) {
        *self.seen() = Seen::new(&self.source, now_ms, false);
    }

    /// Finds the file, folder or link at `path`; `None` if it does not exist. It follows the links in `path`, except for the
    /// last name.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] for an invalid selection or time, with a hint.
    /// - [`Error::LimitExceeded`] for a file that would be too large.
    /// - Errors of reading the array.
    pub async fn lookup(&self, path: &str) -> Result<Option<Node>> {
        Ok(match self.walk(path, LastLink::Kept).await? {
            None => None,
            Some(Found::Folder(_) | Found::Pyramid(_)) => Some(Node::dir(path, 0)),
            Some(Found::PyramidText(pyramid)) => Some(self.pyramid_text(path, &pyramid).await?),
            Some(Found::FolderText(folder, FolderText::Readme, name)) => {
                let window = self.seen().window;
                let name = if name.is_empty() { &self.source.name } else { name };
                let summary = facts::of_folder(&self.source, &folder, window).await;
                let has_levels = self.lists_pyramid(&folder).await;
                let text = readme::folder_readme(name, &folder, &summary, has_levels);
                Some(Node::text(path, 0, text))
            }
            Some(Found::FolderText(folder, FolderText::Metadata, _)) => {
                let options = self.options(self.seen().window);
                let group = Group::open(&self.source.context, &folder.path, &options).await?;
                Some(Node::text(path, 0, documents::metadata(&group.metadata().await?)))
            }
            Some(Found::Link(target, modified_ms)) => Some(Node::link(path, modified_ms, target)),
            Some(Found::InArray(array, place, name, now)) => self.node(path, &array, &place, name, now).await?,
        })
    }

    /// The array whose folder is at `path`, as the view shows it; `None` for all other paths, such as those below an array
    /// or of another time.
    ///
    /// # Errors
    /// Errors of opening the array.
    pub async fn array(&self, path: &str) -> Result<Option<Array>> {
        Ok(match self.walk(path, LastLink::Kept).await? {
            Some(Found::InArray(snapshot, ViewPath::Root, _, true)) => Some(snapshot.array),
            _ => None,
        })
    }

    /// The path in the store of the folder or group at `path`, as the view shows it; `None` for all other paths, such as
    /// arrays.
    ///
    /// # Errors
    /// Errors of listing the folder or opening the group.
    pub async fn folder_in_store(&self, path: &str) -> Result<Option<String>> {
        Ok(match self.walk(path, LastLink::Kept).await? {
            Some(Found::Folder(folder)) => Some(folder.path.clone()),
            _ => None,
        })
    }

    /// Lists the folder at `path` in order, or the folder that a link at `path` leads to.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the folder does not exist; errors of reading the array.
    pub async fn list(&self, path: &str) -> Result<Vec<DirEntry>> {
        match self.walk(path, LastLink::Followed).await? {
            Some(Found::Folder(folder)) => {
                let mut names: Vec<DirEntry> = folder.names().into_iter().map(DirEntry::dir).collect();
                names.extend(folder.texts(path.is_empty()).map(|t| DirEntry::file(t.name())));
                if self.lists_pyramid(&folder).await {
                    names.push(DirEntry::dir(pyramids::FOLDER));
                }
                sort_by(&mut names, |a, b| a.name.cmp(&b.name));
                Ok(names)
            }
            Some(Found::InArray(array, place, _, now)) => self.list_in_array(&array, &place, now).await,
            Some(Found::Pyramid(pyramid)) => Ok(pyramids::list(&pyramid)),
            Some(Found::FolderText(..) | Found::PyramidText(_) | Found::Link(..)) | None => {
                Err(Error::not_found(path, "the view has no folder with this name"))
            }
        }
    }

    async fn list_in_array(&self, snapshot: &Snapshot, place: &ViewPath<'_>, now: bool) -> Result<Vec<DirEntry>> {
        let array = &snapshot.array;
        let mut names = match place {
            ViewPath::Slices => {
                let files = listed::whole_attributes(snapshot, self.list_max);
                let files = files.into_iter().map(DirEntry::file);
                return Ok(std::iter::once(DirEntry::file("README.md")).chain(files).collect());
            }
            ViewPath::MetadataKeys => {
                let metadata = array.metadata().await?;
                let files = listed::metadata_files(&metadata).into_iter();
                return Ok(files.map(|(name, _)| DirEntry::file(name)).collect());
            }
            ViewPath::Overviews => {
                let found = listed::overviews(&array.metadata().await?, array.path(), &self.source.path).into_iter();
                return Ok(found.map(|(factor, _)| DirEntry::dir(factor)).collect());
            }
            ViewPath::Zarr | ViewPath::ZarrArray(_) | ViewPath::ZarrDir(..) => {
                return zarr::list(array, place, &facts::of(snapshot).await?.meaning);
            }
            place => tree::list(array, place, now)?,
        };
        if *place == ViewPath::Root {
            if now && !listed::overviews(&array.metadata().await?, array.path(), &self.source.path).is_empty() {
                names.push(DirEntry::dir("overview"));
            }
            names.extend(listed::thumbnail(snapshot).map(|_| DirEntry::file("thumb.png")));
            sort_by(&mut names, |a, b| a.name.cmp(&b.name));
        }
        Ok(names)
    }

    /// Reads a byte range of a file, cut off at its end.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a folder; errors of reading the array.
    pub async fn read(&self, node: &Node, range: Range<u64>) -> Result<Bytes> {
        self.contents.read(node, range).await
    }

    /// Reads the whole file at `path`.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the file does not exist; errors of [`View::lookup`] and [`View::read`].
    pub async fn read_file(&self, path: &str) -> Result<Bytes> {
        match self.lookup(path).await? {
            Some(node) => self.read(&node, 0..u64::MAX).await,
            None => Err(Error::not_found(path, "the view has no file with this name")),
        }
    }

    async fn walk<'a>(&self, path: &'a str, last: LastLink) -> Result<Option<Found<'a>>> {
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        let mut rest = parts.as_slice();
        let mut name = None;
        let window = self.seen().window;
        let mut object = self.object(&self.source.path, window).await?;
        loop {
            let next = match (&*object, rest) {
                (Object::Array(array), _) => {
                    return match tree::link_target(rest, &array.times) {
                        Some(target) if last == LastLink::Kept => Ok(Some(Found::Link(target, array.modified_ms))),
                        _ => self.walk_array(array, rest, name).await,
                    };
                }
                (Object::Folder(folder), []) => return Ok(Some(Found::Folder(Arc::clone(folder)))),
                (Object::Folder(folder), [first, tail @ ..]) => {
                    let mut texts = folder
                        .texts(name.is_none())
                        .filter(|t| tail.is_empty() && t.name() == *first);
                    if let Some(text) = texts.next() {
                        return Ok(Some(Found::FolderText(Arc::clone(folder), text, name.unwrap_or(""))));
                    }
                    if *first == pyramids::FOLDER
                        && let Some(pyramid) = self.pyramid(folder).await?
                    {
                        return self.walk_pyramid(pyramid, tail).await;
                    }
                    let child = folder.children.iter().find(|c| c.name == *first);
                    child.map(|c| c.path.clone())
                }
            };
            let Some(next) = next else { return Ok(None) };
            object = self.object(&next, window).await?;
            if let Some((first, tail)) = rest.split_first() {
                name = Some(*first);
                rest = tail;
            }
        }
    }

    async fn walk_array<'a>(
        &self,
        array: &Snapshot,
        parts: &[&'a str],
        name: Option<&'a str>,
    ) -> Result<Option<Found<'a>>> {
        let name = name.unwrap_or("");
        let (array, parts, now) = match tree::past(parts, &array.array)? {
            Past::Unseen => return Ok(None),
            Past::Now => (array.clone(), parts, true),
            Past::Window(window, rest) => {
                let all = self.source.options.window;
                let window = Window {
                    start_ms: window.start_ms.max(all.start_ms),
                    end_ms: window.end_ms.min(all.end_ms),
                };
                match &*self.object(array.array.path(), window).await? {
                    Object::Array(then) => (then.clone(), rest, false),
                    Object::Folder(_) => return Ok(None),
                }
            }
        };
        if let (true, ["overview", factor, rest @ ..]) = (now, parts) {
            let overviews = listed::overviews(&array.array.metadata().await?, array.array.path(), &self.source.path);
            let found = overviews.into_iter().find(|(name, _)| name == *factor);
            let Some((_, path)) = found else { return Ok(None) };
            let window = self.seen().window;
            return match &*self.object(&path, window).await? {
                Object::Array(overview) => {
                    let place = tree::place(rest, overview.array.schema())?;
                    let place = place.filter(|p| !only_now(p));
                    Ok(place.map(|p| Found::InArray(overview.clone(), p, "overview", false)))
                }
                Object::Folder(_) => Ok(None),
            };
        }
        let place = tree::place(parts, array.array.schema())?;
        Ok(place
            .filter(|p| now || !only_now(p))
            .map(|p| Found::InArray(array, p, name, now)))
    }

    async fn object(&self, path: &str, window: Window) -> Result<Arc<Object>> {
        let key = (path.to_owned(), window);
        if let Some(found) = self.seen().objects.get(&key) {
            return Ok(Arc::clone(found));
        }
        let context = &self.source.context;
        self.invalidate().await?;
        let options = self.options(window);
        let object = match object_type(context, path).await? {
            Some(ObjectType::Array) => Object::Array(Snapshot::new(Array::open(context, path, &options).await?)),
            Some(ObjectType::Group) => {
                let group = Group::open(context, path, &options).await?;
                Object::Folder(Arc::new(Folder::of_group(&group, &self.source.url).await?))
            }
            None => Object::Folder(Arc::new(self.folder(path).await?)),
        };
        let object = Arc::new(object);
        self.seen().keep(key, Arc::clone(&object));
        Ok(object)
    }

    /// Invalidates the caches of the store once after each refresh.
    async fn invalidate(&self) -> Result<()> {
        let _alone = self.renewing.lock().await;
        if !self.seen().is_renewed {
            self.source.context.vfs.invalidate().await?;
            self.seen().is_renewed = true;
        }
        Ok(())
    }

    async fn folder(&self, path: &str) -> Result<Folder> {
        let folder = Folder::of_all(&self.source.context, path).await?;
        if folder.children.is_empty() && path == self.source.path {
            return Err(Error::not_found(
                &self.source.name,
                "this is not an array, a group or a folder of arrays",
            ));
        }
        Ok(folder)
    }

    fn options(&self, window: Window) -> OpenOptions {
        OpenOptions {
            window,
            ..self.source.options.clone()
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a folder exists only in the tree of an array as of now.
const fn only_now(place: &ViewPath<'_>) -> bool {
    matches!(place, ViewPath::Times | ViewPath::Since | ViewPath::Overviews)
}
