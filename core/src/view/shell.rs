//! The part of the view that finds things: it opens arrays and groups, and makes nodes of names.

mod chunks;
mod facts;
mod folders;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

pub(super) use self::folders::Folder;
use self::folders::FolderText;
use super::chunk::Chunk;
use super::contents::Contents;
use super::docs;
use super::encode::Format;
use super::node::{Content, DirEntry, Node, NodeKind, Snapshot};
use super::selection::{self, Selection};
use super::slice::Slice;
use super::tiles::Tiles;
use super::tree::{self, Past, Place};
use super::zarr::{self, Member};
use crate::array::{Array, Group, ObjectType, OpenOptions, Window, object_type};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::format::enumeration::Enumeration;
use crate::schema_json;
use crate::sort::sort_by;

/// Numbers of cells of sparse slices that are remembered.
const COUNTS_MAX: usize = 1 << 16;
/// Arrays and folders of other windows than its own that a view remembers.
const OTHERS_MAX: usize = 64;

/// What a view shows.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store.
    pub context: Context,
    /// The URL of the store, by which members that a group names in full are found in it; empty if it has none.
    pub url: String,
    /// An array, a group, or a folder of arrays in it.
    pub path: String,
    /// Which writes to see, of all of time those up to now; and the key of encrypted arrays.
    pub options: OpenOptions,
    /// What the texts call it.
    pub name: String,
}

/// An array, or a folder of arrays, as a tree of files.
#[derive(Debug)]
pub struct View {
    source: Source,
    seen: Mutex<Seen>,
    /// Held by who renews the store, for whom the others wait.
    renewing: futures_util::lock::Mutex<()>,
    contents: Contents,
    /// How many cells sparse slices have, by their ids.
    counts: Mutex<HashMap<u64, u64>>,
}

/// What a view has seen since [`View::refresh`].
#[derive(Debug)]
struct Seen {
    /// What names without a time show.
    window: Window,
    /// What lies at paths of the store in windows of time.
    objects: HashMap<(String, Window), Arc<Object>>,
    /// Whether the store tells what is there now.
    is_renewed: bool,
}

/// What lies at a path of the store.
#[derive(Debug)]
enum Object {
    Array(Snapshot),
    Folder(Arc<Folder>),
}

/// What a path of the view leads to.
enum Found<'a> {
    Folder(Arc<Folder>),
    /// A text about a folder; the folder's name, empty at the root.
    FolderText(Arc<Folder>, FolderText, &'a str),
    /// A place in an array; its name; whether this is the array as it is now.
    InArray(Snapshot, Place<'a>, &'a str, bool),
}

impl View {
    /// A view of `source` at `now_ms`, in milliseconds since 1970: what bears a later time is shown only
    /// where a name or the window of `source` asks for it. Nothing is read yet.
    pub fn new(source: Source, now_ms: u64) -> Self {
        Self {
            seen: Mutex::new(Seen::new(&source, now_ms, true)),
            renewing: futures_util::lock::Mutex::default(),
            source,
            contents: Contents::default(),
            counts: Mutex::default(),
        }
    }

    /// A view of `array` as it was opened: until [`View::refresh`], what was written or vacuumed since changes nothing
    /// in it. Times in names are looked up in the store.
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

    /// What it shows.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Forgets which arrays there are and what is in them, so that later names show what was written
    /// until `now_ms`. Nodes that were looked up before do not change.
    pub fn refresh(&self, now_ms: u64) {
        *self.seen() = Seen::new(&self.source, now_ms, false);
    }

    /// What `path` leads to; `None` if there is no such name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a selection or a time that makes no sense, with what to write
    /// instead; [`Error::LimitExceeded`] for a file that would be too large; others from reading.
    pub async fn lookup(&self, path: &str) -> Result<Option<Node>> {
        Ok(match self.walk(path).await? {
            None => None,
            Some(Found::Folder(_)) => Some(Node::dir(path, 0)),
            Some(Found::FolderText(folder, FolderText::Readme, name)) => {
                let name = if name.is_empty() { &self.source.name } else { name };
                Some(Node::text(path, 0, docs::folder_readme(name, &folder)))
            }
            Some(Found::FolderText(folder, FolderText::Metadata, _)) => {
                let options = self.options(self.seen().window);
                let group = Group::open(&self.source.context, &folder.path, &options).await?;
                Some(Node::text(path, 0, docs::metadata(&group.metadata().await?)))
            }
            Some(Found::InArray(array, place, name, now)) => self.node(path, &array, &place, name, now).await?,
        })
    }

    /// The names in the folder at `path`, in order.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such folder; others from reading.
    pub async fn list(&self, path: &str) -> Result<Vec<DirEntry>> {
        match self.walk(path).await? {
            Some(Found::Folder(folder)) => {
                let mut names: Vec<DirEntry> = folder.names().into_iter().map(DirEntry::dir).collect();
                names.extend(folder.texts(path.is_empty()).map(|t| DirEntry::file(t.name())));
                sort_by(&mut names, |a, b| a.name.cmp(&b.name));
                Ok(names)
            }
            Some(Found::InArray(array, place, _, now)) => tree::list(&array.array, &place, now),
            Some(Found::FolderText(..)) | None => Err(Error::not_found(path, "no folder of this name is in the view")),
        }
    }

    /// Bytes of a file. What lies beyond its end is left out.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a folder; others from reading.
    pub async fn read(&self, node: &Node, range: Range<u64>) -> Result<Bytes> {
        self.contents.read(node, range).await
    }

    /// All bytes of a file that has to be made as a whole, such as text, and `None` for files of which parts can be
    /// made. Such a file is made anew once others have pushed it out of the view's memory: who goes on reading it does
    /// well to keep the bytes.
    ///
    /// # Errors
    /// As [`View::read`].
    pub async fn read_whole(&self, node: &Node) -> Result<Option<Bytes>> {
        self.contents.whole(node).await
    }

    /// The whole file at `path`.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such file; others as for [`View::lookup`] and [`View::read`].
    pub async fn read_file(&self, path: &str) -> Result<Bytes> {
        match self.lookup(path).await? {
            Some(node) => self.read(&node, 0..u64::MAX).await,
            None => Err(Error::not_found(path, "no file of this name is in the view")),
        }
    }

    async fn walk<'a>(&self, path: &'a str) -> Result<Option<Found<'a>>> {
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        let mut rest = parts.as_slice();
        let mut name = None;
        let window = self.seen().window;
        let mut object = self.object(&self.source.path, window).await?;
        loop {
            let next = match (&*object, rest) {
                (Object::Array(array), _) => return self.walk_array(array, rest, name).await,
                (Object::Folder(folder), []) => return Ok(Some(Found::Folder(Arc::clone(folder)))),
                (Object::Folder(folder), [first, tail @ ..]) => {
                    let mut texts = folder
                        .texts(name.is_none())
                        .filter(|t| tail.is_empty() && t.name() == *first);
                    if let Some(text) = texts.next() {
                        return Ok(Some(Found::FolderText(Arc::clone(folder), text, name.unwrap_or(""))));
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
        let place = tree::place(parts, array.array.schema())?;
        Ok(place
            .filter(|p| now || !matches!(p, Place::Times | Place::Since))
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

    /// After a refresh has the store forget what it told before.
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
                "neither an array nor a group nor a folder of arrays is here",
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

    async fn node(
        &self,
        path: &str,
        snapshot: &Snapshot,
        place: &Place<'_>,
        name: &str,
        now: bool,
    ) -> Result<Option<Node>> {
        let (array, modified) = (&snapshot.array, snapshot.modified_ms);
        let text = |text: String| Some(Node::text(path, modified, text));
        Ok(match place {
            Place::Root | Place::Slices | Place::Tiles | Place::Times | Place::Since | Place::Fragments => {
                Some(Node::dir(path, modified))
            }
            Place::TileDir(_, prefix) => Tiles::of(array)?.holds(prefix).then(|| Node::dir(path, modified)),
            Place::Readme => {
                let name = if name.is_empty() { &self.source.name } else { name };
                text(docs::array_readme(name, array, now))
            }
            Place::Schema => text(docs::pretty(&schema_json::to_json(
                array.schema(),
                &enumerations(array).await?,
            ))),
            Place::Metadata => text(docs::metadata(&array.metadata().await?)),
            Place::SlicesReadme => text(docs::slices_readme(snapshot)),
            Place::Fragment(name) => {
                let found = array.fragments().iter().find(|f| f.name == *name);
                found.and_then(|f| text(docs::fragment(f, &f.schema)))
            }
            Place::Zarr | Place::ZarrArray(_) => Some(Node::dir(path, modified)),
            Place::ZarrGroup => text(docs::pretty(&zarr::group(array, &facts::load(array).await?)?)),
            Place::ZarrMeta(member) => text(docs::pretty(&zarr::array(array, member, &facts::load(array).await?)?)),
            Place::ZarrDir(member, prefix) => zarr::holds(array, member, prefix)?.then(|| Node::dir(path, modified)),
            Place::ZarrChunk(Member::Coordinates(dimension), key) => {
                let chunk = key
                    .first()
                    .and_then(|k| zarr::coordinates(array.schema(), *dimension, *k));
                chunk.map(|bytes| Node::text(path, modified, bytes))
            }
            Place::ZarrChunk(member, key) if zarr::holds(array, member, key)? => {
                match Chunk::new(snapshot, member, key)? {
                    Some(chunk) => Some(chunks::node(snapshot, chunk).await?),
                    None => None,
                }
            }
            Place::ZarrChunk(..) => None,
            Place::Tile(attribute, tile) => {
                let tiles = Tiles::of(array)?;
                if !tiles.holds(tile) {
                    return Ok(None);
                }
                Some(
                    self.slice_node(snapshot, tiles.selection(attribute, tile), Format::Npy)
                        .await?,
                )
            }
            Place::Slice(text, ending) => {
                let format = Format::from_extension(ending)?;
                let selection = selection::read(array, text).await?;
                Some(self.slice_node(snapshot, selection, format).await?)
            }
        })
    }

    async fn slice_node(&self, snapshot: &Snapshot, selection: Selection, format: Format) -> Result<Node> {
        let mut slice = Slice::new(snapshot, selection, format)?;
        if !slice.is_dense() {
            let cells = self.count(&slice).await?;
            slice = slice.with_cells(cells);
        }
        if format.lists_coordinates() {
            let labels = labels(&snapshot.array, &slice.fields).await?;
            slice = slice.with_labels(&labels);
        }
        let layout = slice.fixed_layout()?;
        let slice = Arc::new(slice);
        let id = slice.id();
        let (size, content) = match layout {
            Some(layout) => (layout.size, Content::Fixed(Arc::clone(&slice), Arc::new(layout))),
            None => {
                let size = match slice.encoder()?.size() {
                    Some(size) => size,
                    None => self.contents.rendered(id, &slice).await?.len() as u64,
                };
                (size, Content::Rendered(Arc::clone(&slice)))
            }
        };
        Ok(Node {
            id,
            modified_ms: snapshot.modified_ms,
            kind: NodeKind::File { size },
            stored_bytes: slice.stored_bytes(),
            facts: slice.facts(),
            content,
        })
    }

    async fn count(&self, slice: &Slice) -> Result<u64> {
        let counts = || self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let id = slice.id();
        if let Some(cells) = counts().get(&id) {
            return Ok(*cells);
        }
        let cells = slice.array().count(&slice.query()?).await?;
        let mut counts = counts();
        if counts.len() >= COUNTS_MAX {
            counts.clear();
        }
        counts.insert(id, cells);
        Ok(cells)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn new(source: &Source, now_ms: u64, is_renewed: bool) -> Self {
        let window = source.options.window;
        Self {
            window: if window == Window::ALL {
                Window::at(now_ms)
            } else {
                window
            },
            objects: HashMap::new(),
            is_renewed,
        }
    }

    /// Remembers what is there, and forgets other windows when there are many.
    fn keep(&mut self, key: (String, Window), object: Arc<Object>) {
        let own = self.window;
        if self.objects.keys().filter(|k| k.1 != own).count() >= OTHERS_MAX {
            self.objects.retain(|k, _| k.1 == own);
        }
        self.objects.insert(key, object);
    }
}

async fn enumerations(array: &Array) -> Result<Vec<Enumeration>> {
    let mut found = Vec::new();
    for reference in &array.schema().enumerations {
        found.push(Enumeration::clone(&*array.enumeration(&reference.name).await?));
    }
    Ok(found)
}

/// The enumerations of those fields that have one.
async fn labels(array: &Array, fields: &[String]) -> Result<Vec<(String, Arc<Enumeration>)>> {
    let mut found = Vec::new();
    for field in fields {
        if let Some(name) = array
            .schema()
            .attribute(field)
            .and_then(|(_, a)| a.enumeration.as_ref())
        {
            found.push((field.clone(), array.enumeration(name).await?));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_windows_are_not_all_remembered() {
        let source = Source {
            context: Context::memory(),
            url: String::new(),
            path: String::new(),
            options: OpenOptions::default(),
            name: String::new(),
        };
        let mut seen = Seen::new(&source, 5000, true);
        let folder = || Arc::new(Object::Folder(Arc::default()));
        let own = ("a".to_owned(), seen.window);
        seen.keep(own.clone(), folder());
        for time in 0..1000 {
            let other = ("a".to_owned(), Window::at(time));
            seen.keep(other.clone(), folder());
            assert!(seen.objects.contains_key(&other) && seen.objects.contains_key(&own));
            assert!(seen.objects.len() <= 1 + OTHERS_MAX);
        }
    }
}
