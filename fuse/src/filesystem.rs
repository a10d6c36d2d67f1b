//! The file system: numbers for files, and what can be asked about them. No kernel is needed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyperslab::blocking::block_on;
use hyperslab::view::{DirEntry, Node, NodeKind, Source, View, dir_id};

use crate::errno::{Refusal, errno};
use crate::open_files::OpenFiles;

/// The number of the root folder.
pub const ROOT: u64 = 1;
/// The longest component of a path, in bytes: what older kernels pass on.
pub const NAME_BYTES_MAX: usize = 1024;
/// Bytes that open files keep which must be made as a whole.
const OPEN_BYTES_MAX: u64 = 1 << 30;
/// Folders whose last complaint is remembered.
const COMPLAINTS_MAX: usize = 1024;
/// What extended attributes start with.
const XATTR: &str = "user.hyperslab.";

/// A view with numbered files.
#[derive(Debug)]
pub struct FileSystem {
    view: View,
    /// How long a name may go on showing what it showed.
    ttl: Duration,
    looked: Mutex<Instant>,
    inodes: Mutex<HashMap<u64, Inode>>,
    open: OpenFiles,
    /// What was last refused of a file, or in a folder.
    complaints: Mutex<HashMap<u64, Complaint>>,
    tell: fn(&str, &Refusal),
}

#[derive(Debug, Clone)]
struct Inode {
    path: String,
    node: Arc<Node>,
    /// How many times the kernel was told the number, less how many it has forgotten.
    known: u64,
}

/// Why something was refused.
#[derive(Debug, Clone)]
struct Complaint {
    /// The number for it.
    number: i32,
    /// The name in the folder, if it is about one.
    name: Option<String>,
    why: String,
}

/// What `stat` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Its number.
    pub ino: u64,
    /// Bytes; exact.
    pub size: u64,
    /// 512-byte blocks of the store that it takes; never 0 for a file with contents.
    pub blocks: u64,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// When the newest write that it shows was made, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// A name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The number of the file it leads to.
    pub ino: u64,
    /// The name.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
}

impl FileSystem {
    /// A file system over `source`, which is looked at anew after `ttl`.
    ///
    /// # Errors
    /// The source cannot be read, or is nothing that can be shown.
    pub fn new(source: Source, ttl: Duration) -> Result<Self, Refusal> {
        let view = View::new(source, now_ms());
        let root = block_on(view.lookup(""))?.ok_or(Refusal::Absent)?;
        let root = Inode {
            path: String::new(),
            node: Arc::new(root),
            known: 1,
        };
        Ok(Self {
            view,
            ttl,
            looked: Mutex::new(Instant::now()),
            inodes: Mutex::new(HashMap::from([(ROOT, root)])),
            open: OpenFiles::new(OPEN_BYTES_MAX),
            complaints: Mutex::default(),
            tell: |_, _| (),
        })
    }

    /// Calls `tell` with the path of what cannot be read though it is there, and why: once for each, as long as programs
    /// see the same number for it, for what of it is read first is left to chance.
    #[must_use]
    pub fn telling(self, tell: fn(&str, &Refusal)) -> Self {
        Self { tell, ..self }
    }

    /// How long a name may be remembered.
    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// The file `name` in the folder `parent`. A file that is found is known once more, until
    /// [`FileSystem::forget`].
    ///
    /// # Errors
    /// [`Refusal::Absent`] if there is no such name; others with the reason.
    pub fn lookup(&self, parent: u64, name: &OsStr) -> Result<Attributes, Refusal> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Refusal::NameTooLong);
        }
        let name = name.to_str().ok_or(Refusal::Absent)?;
        let path = self.child(parent, name)?;
        self.refresh();
        let mut found = block_on(self.view.lookup(&path));
        if found.as_ref().is_err_and(hyperslab::Error::is_lost) {
            // It may have been vacuumed since the array was looked at.
            self.view.refresh(now_ms());
            found = block_on(self.view.lookup(&path));
        }
        let node = found
            .map_err(|e| self.complain_of(parent, Some(name), e.into()))?
            .ok_or(Refusal::Absent)?;
        self.withdraw(parent, Some(name));
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
        Ok(attributes(ino, &inode.node))
    }

    /// What `stat` tells about a file.
    ///
    /// # Errors
    /// [`Refusal::Stale`] if the number is not known.
    pub fn attributes(&self, ino: u64) -> Result<Attributes, Refusal> {
        let inode = self.inode(ino)?;
        if inode.node.kind.is_dir() {
            // What is written shows in the folder; the bytes behind a file's number never change.
            self.refresh();
            if let Ok(Some(now)) = block_on(self.view.lookup(&inode.path)) {
                return Ok(attributes(ino, &now));
            }
        }
        Ok(attributes(ino, &inode.node))
    }

    /// Bytes of a file; fewer than asked for only at its end.
    ///
    /// # Errors
    /// [`Refusal::IsFolder`]; [`Refusal::Stale`] if it was vacuumed since; others from reading.
    pub fn read(&self, ino: u64, offset: u64, size: u32) -> Result<Bytes, Refusal> {
        let inode = self.inode(ino)?;
        if inode.node.kind.is_dir() {
            return Err(Refusal::IsFolder);
        }
        let range = offset..offset.saturating_add(u64::from(size));
        if let Some(whole) = self.open.whole(ino) {
            return Ok(part(&whole, &range));
        }
        let read = block_on(async {
            match self.view.read_whole(&inode.node).await? {
                Some(whole) => {
                    self.open.keep(ino, &whole);
                    Ok(part(&whole, &range))
                }
                None => self.view.read(&inode.node, range).await,
            }
        });
        let refusal = match read {
            Ok(bytes) => {
                self.withdraw(ino, None);
                return Ok(bytes);
            }
            // It was there at lookup: it was vacuumed since, or it is lost.
            Err(hyperslab::Error::NotFound { .. }) if self.is_outdated(ino, &inode) => Refusal::Stale,
            Err(e) => Refusal::Unreadable(e),
        };
        Err(self.complain(ino, refusal))
    }

    /// Whether the path of a file leads to another one by now, or to none.
    fn is_outdated(&self, ino: u64, inode: &Inode) -> bool {
        self.view.refresh(now_ms());
        match block_on(self.view.lookup(&inode.path)) {
            Ok(node) => node.is_none_or(|node| node.id != ino),
            Err(_) => false,
        }
    }

    /// Opens a file. What must be made as a whole is made once while it is open, until [`FileSystem::close`].
    ///
    /// # Errors
    /// [`Refusal::IsFolder`]; [`Refusal::Stale`].
    pub fn open(&self, ino: u64) -> Result<(), Refusal> {
        if self.inode(ino)?.node.kind.is_dir() {
            return Err(Refusal::IsFolder);
        }
        self.open.open(ino);
        Ok(())
    }

    /// A program has closed a file that it had opened.
    pub fn close(&self, ino: u64) {
        self.open.close(ino);
    }

    /// Whether a program has a file open.
    pub fn has_open_files(&self) -> bool {
        !self.open.is_empty()
    }

    /// The names in a folder, in order.
    ///
    /// # Errors
    /// [`Refusal::NoFolder`]; [`Refusal::Stale`]; others from reading.
    pub fn list(&self, ino: u64) -> Result<Vec<Listed>, Refusal> {
        let inode = self.inode(ino)?;
        if !inode.node.kind.is_dir() {
            return Err(Refusal::NoFolder);
        }
        self.refresh();
        let entries = block_on(self.view.list(&inode.path)).map_err(|e| self.complain(ino, e.into()))?;
        Ok(entries.into_iter().map(|e| self.listed(&inode.path, e)).collect())
    }

    /// The kernel no longer holds `times` of the mentions of a number.
    pub fn forget(&self, ino: u64, times: u64) {
        let mut inodes = lock(&self.inodes);
        let Some(inode) = inodes.get_mut(&ino).filter(|_| ino != ROOT) else {
            return;
        };
        inode.known = inode.known.saturating_sub(times);
        if inode.known == 0 {
            inodes.remove(&ino);
        }
    }

    /// The value of an extended attribute.
    ///
    /// # Errors
    /// [`Refusal::NoAttribute`]; [`Refusal::Stale`].
    pub fn xattr(&self, ino: u64, name: &OsStr) -> Result<String, Refusal> {
        let found = self.xattrs(ino)?.into_iter().find(|(n, _)| name == OsStr::new(n));
        found.map(|(_, value)| value).ok_or(Refusal::NoAttribute)
    }

    /// All extended attributes: facts about a slice, and why something in a folder was refused.
    ///
    /// # Errors
    /// [`Refusal::Stale`].
    pub fn xattrs(&self, ino: u64) -> Result<Vec<(String, String)>, Refusal> {
        let inode = self.inode(ino)?;
        let facts = inode
            .node
            .facts
            .iter()
            .map(|(name, value)| (format!("{XATTR}{name}"), value.clone()));
        let complaint = lock(&self.complaints).get(&ino).cloned().map(|c| match c.name {
            Some(name) => format!("{name}: {}", c.why),
            None => c.why,
        });
        Ok(facts
            .chain(complaint.map(|text| (format!("{XATTR}error"), text)))
            .collect())
    }

    /// Remembers why, for whoever asks the folder or the file, and tells of it where it is a failure.
    pub fn complain(&self, ino: u64, refusal: Refusal) -> Refusal {
        self.complain_of(ino, None, refusal)
    }

    fn complain_of(&self, ino: u64, name: Option<&str>, refusal: Refusal) -> Refusal {
        let number = errno(&refusal).code();
        let complaint = Complaint {
            number,
            name: name.map(str::to_owned),
            why: refusal.to_string(),
        };
        let mut complaints = lock(&self.complaints);
        if complaints.len() >= COMPLAINTS_MAX {
            complaints.clear();
        }
        let before = complaints.insert(ino, complaint);
        drop(complaints);
        if refusal.is_failure() && before.is_none_or(|b| b.number != number) {
            let path = self.inode(ino).map(|i| i.path).unwrap_or_default();
            (self.tell)(&path, &refusal);
        }
        refusal
    }

    /// Forgets a complaint about what works now.
    fn withdraw(&self, ino: u64, name: Option<&str>) {
        let mut complaints = lock(&self.complaints);
        if complaints.get(&ino).is_some_and(|c| c.name.as_deref() == name) {
            complaints.remove(&ino);
        }
    }

    /// How many numbers the kernel holds.
    pub fn known(&self) -> usize {
        lock(&self.inodes).len()
    }

    fn child(&self, parent: u64, name: &str) -> Result<String, Refusal> {
        let inode = self.inode(parent)?;
        if !inode.node.kind.is_dir() {
            return Err(Refusal::NoFolder);
        }
        Ok(join(&inode.path, name))
    }

    /// The number that [`FileSystem::lookup`] would give.
    fn listed(&self, dir: &str, entry: DirEntry) -> Listed {
        let path = join(dir, &entry.name);
        let id = if entry.is_dir {
            dir_id(&path)
        } else {
            // What cannot be looked up gets some number that stays the same.
            block_on(self.view.lookup(&path))
                .ok()
                .flatten()
                .map_or_else(|| dir_id(&path), |n| n.id)
        };
        Listed {
            ino: id,
            name: entry.name,
            is_dir: entry.is_dir,
        }
    }

    fn inode(&self, ino: u64) -> Result<Inode, Refusal> {
        lock(&self.inodes).get(&ino).cloned().ok_or(Refusal::Stale)
    }

    fn refresh(&self) {
        let mut looked = lock(&self.looked);
        if looked.elapsed() >= self.ttl {
            *looked = Instant::now();
            drop(looked);
            self.view.refresh(now_ms());
        }
    }
}

/// Milliseconds since 1970; a clock that stands before shows everything.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    since
        .and_then(|t| u64::try_from(t.as_millis()).ok())
        .unwrap_or(u64::MAX)
}

fn attributes(ino: u64, node: &Node) -> Attributes {
    let size = match node.kind {
        NodeKind::File { size } => size,
        NodeKind::Dir => 0,
    };
    // Archivers take a file of 0 blocks for one hole, and write zeros without reading it. What takes no bytes of the
    // store is in memory.
    let in_store = if node.stored_bytes == 0 {
        size
    } else {
        node.stored_bytes
    };
    let blocks = in_store.div_ceil(512);
    Attributes {
        ino,
        size,
        blocks,
        is_dir: node.kind.is_dir(),
        modified_ms: node.modified_ms,
    }
}

/// What of a range is there.
fn part(whole: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |v: u64| usize::try_from(v).map_or(whole.len(), |v| v.min(whole.len()));
    whole.slice(at(range.start)..at(range.end))
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No lock is held while foreign code runs, so what it guards is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
