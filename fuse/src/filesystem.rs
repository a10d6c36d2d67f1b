//! The file system: inodes and the requests about them. Works without a kernel.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyperslab::Cache;
use hyperslab::blocking::block_on;
use hyperslab::internals::view::dir_id;
use hyperslab::view::{DirEntry, FileType, Node, NodeKind, Source, View};

use crate::changing::Changing;
use crate::control::{self, Control};
use crate::errno::FsError;
use crate::metrics::Metrics;
use crate::open_files::OpenFiles;
use crate::put::Put;
use crate::reasons::Reasons;

/// The inode of the root folder.
pub const ROOT: u64 = 1;
/// The longest component of a path, in bytes. Older kernels do not pass on longer ones.
pub const NAME_BYTES_MAX: usize = 1024;

/// A view with inodes.
#[derive(Debug)]
pub struct FileSystem {
    pub(crate) view: View,
    /// The folders for new cells, if the mount is writable.
    pub(crate) put: Option<Put>,
    /// Other changes, if the mount is writable.
    pub(crate) changing: Option<Changing>,
    /// How long a lookup may return an outdated result.
    ttl: Duration,
    looked: Mutex<Instant>,
    pub(crate) inodes: Mutex<HashMap<u64, Inode>>,
    open: OpenFiles,
    pub(crate) reasons: Reasons,
    metrics: Metrics,
    pub(crate) control: Control,
    /// The cache of the view.
    cache: Arc<Cache>,
    pub(crate) tell: fn(&str, &FsError),
}

#[derive(Debug, Clone)]
pub(crate) struct Inode {
    pub(crate) path: String,
    pub(crate) node: Arc<Node>,
    /// The number of lookups of the inode that the kernel has not forgotten.
    pub(crate) known: u64,
}

/// The results of `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The inode.
    pub ino: u64,
    /// The exact size in bytes.
    pub size: u64,
    /// 512-byte blocks in the store; never 0 for a non-empty file.
    pub blocks: u64,
    /// File, folder or link.
    pub file_type: FileType,
    /// The time of the newest write that it shows, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Whether its owner may write to it.
    pub writable: bool,
    /// False for an open file whose name was removed.
    pub has_name: bool,
}

/// A name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The inode of the name.
    pub ino: u64,
    /// The name.
    pub name: String,
    /// File, folder or link.
    pub file_type: FileType,
}

impl FileSystem {
    /// A file system over `source`, which is refreshed after `ttl`.
    ///
    /// # Errors
    /// The source cannot be read or shown.
    pub fn new(source: Source, ttl: Duration) -> Result<Self, FsError> {
        let cache = Arc::clone(&source.context.cache);
        let view = View::new(source, now_ms());
        let root = block_on(view.lookup(""))?.ok_or(FsError::Absent)?;
        let root = Inode {
            path: String::new(),
            node: Arc::new(root),
            known: 1,
        };
        Ok(Self {
            view,
            put: None,
            changing: None,
            ttl,
            looked: Mutex::new(Instant::now()),
            inodes: Mutex::new(HashMap::from([(ROOT, root)])),
            open: OpenFiles::default(),
            reasons: Reasons::default(),
            metrics: Metrics::default(),
            control: Control::default(),
            cache,
            tell: |_, _| (),
        })
    }

    /// Calls `tell` with the path and the reason when existing data cannot be read. It is called once per path
    /// and error number, because the order in which parts of a file are read is unpredictable.
    #[must_use]
    pub fn telling(self, tell: fn(&str, &FsError)) -> Self {
        Self { tell, ..self }
    }

    /// The same file system, which takes at most `bytes` of memory for files while it makes them.
    #[must_use]
    pub fn with_memory(self, bytes: u64) -> Self {
        let view = self.view.with_memory(bytes);
        Self { view, ..self }
    }

    /// The same file system, which lists files of whole attributes of at most `bytes` bytes.
    #[must_use]
    pub fn with_list_max(self, bytes: u64) -> Self {
        let view = self.view.with_list_max(bytes);
        Self { view, ..self }
    }

    /// How long a name may be cached.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Looks up the file `name` in the folder `parent`. Each success counts until [`FileSystem::forget`].
    ///
    /// # Errors
    /// [`FsError::Absent`] if the name does not exist; others with the reason.
    pub fn lookup(&self, parent: u64, name: &OsStr) -> Result<Attributes, FsError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(FsError::NameTooLong);
        }
        let name = name.to_str().ok_or(FsError::Absent)?;
        if parent == ROOT && name == control::NAME {
            return Ok(control::folder());
        }
        if control::has(parent) {
            return control::lookup(parent, name, self);
        }
        if let Some(found) = self.look_up_put(parent, name) {
            return found;
        }
        if let Some(found) = self.look_up_new(parent, name) {
            return found;
        }
        let path = self.child(parent, name)?;
        self.refresh();
        let mut found = block_on(self.view.lookup(&path));
        if found.as_ref().is_err_and(hyperslab::Error::is_lost) {
            // The array may have been vacuumed since the last refresh.
            self.view.refresh(now_ms());
            found = block_on(self.view.lookup(&path));
        }
        let node = found
            .map_err(|e| self.complain_of(parent, Some(name), e.into()))?
            .ok_or(FsError::Absent)?;
        self.reasons.withdraw(&path, true);
        let (ino, node) = (node.id, Arc::new(node));
        let mut inodes = lock(&self.inodes);
        let inode = inodes.entry(ino).or_insert_with(|| Inode {
            path,
            node: Arc::clone(&node),
            known: 0,
        });
        if node.kind.is_dir() {
            inode.node = node;
        }
        inode.known += 1;
        Ok(self.shown(ino, inode))
    }

    /// The attributes of a file or folder.
    ///
    /// # Errors
    /// [`FsError::Stale`] if the inode is unknown.
    pub fn attributes(&self, ino: u64) -> Result<Attributes, FsError> {
        if control::has(ino) {
            return control::attributes(ino, self);
        }
        if let Some(put) = self.put_with(ino) {
            return put.attributes(ino);
        }
        if let Some(changing) = self.attributes_of_changing(ino) {
            return Ok(changing);
        }
        let mut inode = self.inode(ino)?;
        if inode.node.kind.is_dir() {
            // New writes change the folder. The bytes of a file's inode never change.
            self.refresh();
            if let Ok(Some(now)) = block_on(self.view.lookup(&inode.path)) {
                inode.node = Arc::new(now);
            }
        }
        Ok(self.shown(ino, &inode))
    }

    /// Reads a byte range of a file. The result is shorter only at the end of the file.
    ///
    /// # Errors
    /// [`FsError::IsFolder`]; [`FsError::Stale`] if the file was vacuumed; errors of reading the array.
    pub fn read(&self, ino: u64, offset: u64, size: u32) -> Result<Bytes, FsError> {
        if let Some(put) = self.put_with(ino) {
            return put.read(ino, offset, size);
        }
        let inode = self.inode(ino)?;
        if inode.node.kind.is_dir() {
            return Err(FsError::IsFolder);
        }
        let range = offset..offset.saturating_add(u64::from(size));
        let refusal = match block_on(self.view.read(&inode.node, range)) {
            Ok(bytes) => {
                self.reasons.withdraw(&inode.path, false);
                return Ok(bytes);
            }
            // It existed at lookup, so it was vacuumed or lost since then.
            Err(hyperslab::Error::NotFound { .. }) if self.is_outdated(ino, &inode) => FsError::Stale,
            Err(e) => FsError::Unreadable(e),
        };
        Err(self.complain(ino, refusal))
    }

    /// Whether the path now has another inode or does not exist.
    fn is_outdated(&self, ino: u64, inode: &Inode) -> bool {
        self.view.refresh(now_ms());
        match block_on(self.view.lookup(&inode.path)) {
            Ok(node) => node.is_none_or(|node| node.id != ino),
            Err(_) => false,
        }
    }

    /// The target of a link.
    ///
    /// # Errors
    /// [`FsError::NoLink`]; [`FsError::Stale`].
    pub fn read_link(&self, ino: u64) -> Result<String, FsError> {
        let inode = self.inode(ino)?;
        inode.node.target().map(str::to_owned).ok_or(FsError::NoLink)
    }

    /// Opens a file until [`FileSystem::close`].
    ///
    /// # Errors
    /// [`FsError::IsFolder`]; [`FsError::Stale`].
    pub fn open(&self, ino: u64) -> Result<(), FsError> {
        if self.inode(ino)?.node.kind.is_dir() {
            return Err(FsError::IsFolder);
        }
        self.open.open(ino);
        Ok(())
    }

    /// Closes a file that was opened.
    pub fn close(&self, ino: u64) {
        self.open.close(ino);
    }

    /// Opens a file of the control folder and returns its handle; `None` for other files.
    ///
    /// # Errors
    /// [`FsError::IsFolder`]; [`FsError::Stale`].
    pub fn open_control(&self, ino: u64) -> Option<Result<u64, FsError>> {
        control::has(ino).then(|| self.control.open(ino, self))
    }

    /// Reads a part of an open file of the control folder; `None` for other files.
    ///
    /// # Errors
    /// [`FsError::Stale`] if it is not open.
    pub fn read_control(&self, ino: u64, handle: u64, offset: u64, size: u32) -> Option<Result<Bytes, FsError>> {
        control::has(ino).then(|| self.control.read(handle, offset, size))
    }

    /// Closes an open file of the control folder. Returns false for other files.
    pub fn close_control(&self, ino: u64, handle: u64) -> bool {
        if control::has(ino) {
            self.control.close(handle);
        }
        control::has(ino)
    }

    /// Counts of requests.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The cache of the view.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The number of open files.
    pub(crate) fn open_files(&self) -> usize {
        self.open.len()
    }

    /// Whether any file is open.
    pub fn has_open_files(&self) -> bool {
        let changes = self.changing.as_ref();
        !self.open.is_empty()
            || self.put.as_ref().is_some_and(Put::has_open_files)
            || changes.is_some_and(|c| c.documents.has_open_files())
    }

    /// Lists a folder in order.
    ///
    /// # Errors
    /// [`FsError::NoFolder`]; [`FsError::Stale`]; errors of reading the array.
    pub fn list(&self, ino: u64) -> Result<Vec<Listed>, FsError> {
        if control::has(ino) {
            return control::list(ino);
        }
        if let Some(put) = self.put_with(ino) {
            return Ok(put.list(&*put.folder_at(ino).ok_or(FsError::NoFolder)?));
        }
        if let Some(path) = self.new_folder(ino) {
            return Ok(self.listed_new(&path, &[]));
        }
        let inode = self.inode(ino)?;
        if !inode.node.kind.is_dir() {
            return Err(FsError::NoFolder);
        }
        self.refresh();
        let entries = block_on(self.view.list(&inode.path)).map_err(|e| self.complain(ino, e.into()))?;
        let mut listed: Vec<Listed> = entries.into_iter().map(|e| self.listed(&inode.path, e)).collect();
        listed.extend(self.listed_new(&inode.path, &listed));
        Ok(self.listed_put(&inode.path).into_iter().chain(listed).collect())
    }

    /// Forgets `times` lookups of an inode.
    pub fn forget(&self, ino: u64, times: u64) {
        if let Some(put) = self.put_with(ino) {
            return put.forget(ino, times);
        }
        if self.forget_changing(ino, times) {
            return;
        }
        let mut inodes = lock(&self.inodes);
        let Some(inode) = inodes.get_mut(&ino).filter(|_| ino != ROOT) else {
            return;
        };
        inode.known = inode.known.saturating_sub(times);
        if inode.known == 0 {
            inodes.remove(&ino);
        }
    }

    /// The number of inodes that the kernel knows.
    pub fn known(&self) -> usize {
        lock(&self.inodes).len() + self.put.as_ref().map_or(0, Put::known)
    }

    fn child(&self, parent: u64, name: &str) -> Result<String, FsError> {
        let inode = self.inode(parent)?;
        if !inode.node.kind.is_dir() {
            return Err(FsError::NoFolder);
        }
        Ok(join(&inode.path, name))
    }

    /// Adds the inode that [`FileSystem::lookup`] would return.
    fn listed(&self, dir: &str, entry: DirEntry) -> Listed {
        let path = join(dir, &entry.name);
        let id = if entry.file_type != FileType::File {
            dir_id(&path)
        } else {
            // A name whose lookup fails gets a constant inode.
            block_on(self.view.lookup(&path))
                .ok()
                .flatten()
                .map_or_else(|| dir_id(&path), |n| n.id)
        };
        Listed {
            ino: id,
            name: entry.name,
            file_type: entry.file_type,
        }
    }

    pub(crate) fn inode(&self, ino: u64) -> Result<Inode, FsError> {
        lock(&self.inodes).get(&ino).cloned().ok_or(FsError::Stale)
    }

    /// The attributes of an inode. In a writable mount, folders and metadata may take files.
    fn shown(&self, ino: u64, inode: &Inode) -> Attributes {
        let attributes = attributes(ino, &inode.node);
        let writable = match attributes.file_type {
            FileType::Dir => self.is_writable(),
            FileType::File => self.is_document(&inode.path),
            FileType::Link => false,
        };
        Attributes { writable, ..attributes }
    }

    pub(crate) fn refresh(&self) {
        let mut looked = lock(&self.looked);
        if looked.elapsed() >= self.ttl {
            *looked = Instant::now();
            drop(looked);
            self.view.refresh(now_ms());
        }
    }
}

/// Milliseconds since 1970. A clock before 1970 shows all writes.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    since
        .and_then(|t| u64::try_from(t.as_millis()).ok())
        .unwrap_or(u64::MAX)
}

fn attributes(ino: u64, node: &Node) -> Attributes {
    let size = match node.kind {
        NodeKind::File { size } => size,
        NodeKind::Dir => 0,
        NodeKind::Link => node.target().map_or(0, |target| target.len() as u64),
    };
    // Archivers treat a file of 0 blocks as a hole and write zeros without reading it. So generated files count their
    // size.
    let in_store = match node.stored_bytes {
        _ if node.counted_elsewhere => 1,
        0 => size,
        stored => stored,
    };
    let blocks = in_store.div_ceil(512);
    Attributes {
        ino,
        size,
        blocks,
        file_type: node.kind.file_type(),
        modified_ms: node.modified_ms,
        writable: false,
        has_name: true,
    }
}

pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Code under the lock does not panic, so the data is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
