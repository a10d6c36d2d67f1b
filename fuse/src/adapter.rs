//! Passes the kernel's requests to a [`FileSystem`].

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};

use hyperslab::view::FileType;

use crate::control;
use crate::errno::{FsError, errno};
use crate::filesystem::{Attributes, FileSystem, Listed, NAME_BYTES_MAX};
use crate::metrics::Kind;
use crate::workers::Workers;

/// How long the kernel may cache the attributes of a file. They never change, unlike a folder's.
const FOREVER: Duration = Duration::from_secs(24 * 3600);
/// The largest number of background requests of the kernel.
const BACKGROUND: u16 = 64;
/// The kernel's read-ahead, in bytes.
const READAHEAD: u32 = 1 << 20;

/// Answers the kernel's requests from a file system.
#[derive(Debug)]
pub struct Adapter(Arc<Shared>);

/// The owner and the permissions that files show.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Permissions that files and folders lack.
    pub umask: u16,
}

/// What the workers use to answer.
#[derive(Debug)]
struct Shared {
    files: Arc<FileSystem>,
    workers: Workers,
    owner: Owner,
    /// Listings of open folders, so that a listing does not change while it is read.
    listings: Mutex<HashMap<u64, Arc<Vec<Listed>>>>,
    next_handle: AtomicU64,
}

impl Adapter {
    /// Serves `files`, which show `owner`. A request that takes longer than `timeout` fails.
    pub fn new(files: Arc<FileSystem>, owner: Owner, timeout: Duration) -> Self {
        let workers = Workers::new(timeout);
        Self(Arc::new(Shared {
            files,
            workers,
            owner,
            listings: Mutex::default(),
            next_handle: AtomicU64::new(1),
        }))
    }

    /// Runs a request about the file or folder `about` on a worker, which then passes the result to `answer`.
    fn run<R: Send + 'static>(
        &self,
        kind: Kind,
        about: INodeNo,
        request: impl FnOnce(&FileSystem) -> Result<R, FsError> + Send + 'static,
        answer: impl FnOnce(&Shared, Result<R, FsError>) + Send + 'static,
    ) {
        self.run_about(kind, (about, None), request, answer);
    }

    /// Runs a request as [`Adapter::run`] does, about the folder `about` or a name in it.
    fn run_about<R: Send + 'static>(
        &self,
        kind: Kind,
        (about, name): (INodeNo, Option<String>),
        request: impl FnOnce(&FileSystem) -> Result<R, FsError> + Send + 'static,
        answer: impl FnOnce(&Shared, Result<R, FsError>) + Send + 'static,
    ) {
        let (files, shared) = (Arc::clone(&self.0.files), Arc::clone(&self.0));
        let started = Instant::now();
        let answer = move |result: Result<R, FsError>| {
            let result = result.map_err(|refusal| match refusal {
                // The file system does not know about these failures.
                FsError::TimedOut | FsError::Panicked => shared.files.complain_of(about.0, name.as_deref(), refusal),
                other => other,
            });
            shared.count(kind, started, &result);
            answer(&shared, result);
        };
        self.0.workers.run(move || request(&files), answer);
    }
}

impl Shared {
    /// Counts an answered request.
    fn count<R>(&self, kind: Kind, started: Instant, result: &Result<R, FsError>) {
        let error = result.as_ref().err().map(|refusal| errno(refusal).code());
        self.files.metrics().count(kind, started.elapsed(), error);
    }

    fn stat(&self, a: Attributes) -> FileAttr {
        let time = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_millis(a.modified_ms))
            .unwrap_or(SystemTime::UNIX_EPOCH);
        FileAttr {
            ino: INodeNo(a.ino),
            size: a.size,
            blocks: a.blocks,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: kernel_type(a.file_type),
            perm: match a.file_type {
                FileType::File => 0o444 & !self.owner.umask,
                FileType::Dir => 0o555 & !self.owner.umask,
                FileType::Link => 0o777,
            },
            nlink: if a.file_type == FileType::Dir { 2 } else { 1 },
            uid: self.owner.uid,
            gid: self.owner.gid,
            rdev: 0,
            blksize: 1 << 17,
            flags: 0,
        }
    }

    fn attr_ttl(&self, a: Attributes) -> Duration {
        match a.file_type {
            _ if control::has(a.ino) => Duration::ZERO,
            FileType::File | FileType::Link => FOREVER,
            FileType::Dir => self.files.ttl(),
        }
    }

    fn listings(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Vec<Listed>>>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // If the kernel lacks a capability or reduces a limit, its answer is used.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        let _ = config.set_max_background(BACKGROUND);
        if let Err(most) = config.set_max_readahead(READAHEAD) {
            let _ = config.set_max_readahead(most);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let shown = Some(name.to_string_lossy().into_owned());
        let name = name.to_owned();
        let request = move |files: &FileSystem| files.lookup(parent.0, &name);
        self.run_about(Kind::Lookup, (parent, shown), request, |shared, found| match found {
            Ok(found) => reply.entry_with_ttls(
                &shared.attr_ttl(found),
                &shared.files.ttl(),
                &shared.stat(found),
                Generation(0),
            ),
            // Inode 0 is a negative entry, which the kernel may cache.
            Err(FsError::Absent) => {
                let none = Attributes {
                    ino: 0,
                    size: 0,
                    blocks: 0,
                    file_type: FileType::File,
                    modified_ms: 0,
                };
                reply.entry(&shared.files.ttl(), &shared.stat(none), Generation(0));
            }
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn forget(&self, _: &Request, ino: INodeNo, times: u64) {
        self.0.files.forget(ino.0, times);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let request = move |files: &FileSystem| files.attributes(ino.0);
        self.run(Kind::Getattr, ino, request, |shared, found| match found {
            Ok(found) => reply.attr(&shared.attr_ttl(found), &shared.stat(found)),
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let started = Instant::now();
        let target = self.0.files.read_link(ino.0);
        self.0.count(Kind::Readlink, started, &target);
        match target {
            Ok(target) => reply.data(target.as_bytes()),
            Err(refusal) => reply.error(errno(&refusal)),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let started = Instant::now();
        let reads = flags.acc_mode() == fuser::OpenAccMode::O_RDONLY;
        if let Some(opened) = reads.then(|| self.0.files.open_control(ino.0)).flatten() {
            self.0.count(Kind::Open, started, &opened);
            return match opened {
                // Its size is not known before, so the kernel must not cache it.
                Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO),
                Err(refusal) => reply.error(errno(&refusal)),
            };
        }
        let opened = if reads {
            self.0.files.open(ino.0)
        } else {
            Err(FsError::ReadOnly)
        };
        self.0.count(Kind::Open, started, &opened);
        match opened {
            // The bytes of an inode never change, so the kernel's cache stays valid.
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH),
            Err(refusal) => reply.error(errno(&refusal)),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let request = move |files: &FileSystem| match files.read_control(ino.0, handle.0, offset, size) {
            Some(read) => read,
            None => files.read(ino.0, offset, size),
        };
        self.run(Kind::Read, ino, request, |shared, read| match read {
            Ok(bytes) => {
                shared.files.metrics().count_read(bytes.len());
                reply.data(&bytes);
            }
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if !self.0.files.close_control(ino.0, handle.0) {
            self.0.files.close(ino.0);
        }
        reply.ok();
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let request = move |files: &FileSystem| files.list(ino.0);
        self.run(Kind::List, ino, request, |shared, listed| match listed {
            Ok(listing) => {
                let handle = shared.next_handle.fetch_add(1, Ordering::Relaxed);
                shared.listings().insert(handle, Arc::new(listing));
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn readdir(&self, _: &Request, ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let Some(listing) = self.0.listings().get(&handle.0).cloned() else {
            return reply.error(errno(&FsError::Stale));
        };
        // The kernel resolves the parent itself.
        let dots = [(ino.0, ".", FileType::Dir), (ino.0, "..", FileType::Dir)];
        let entries = dots
            .into_iter()
            .chain(listing.iter().map(|e| (e.ino, e.name.as_str(), e.file_type)));
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (next, (ino, name, file_type)) in (1..).zip(entries).skip(from) {
            if reply.add(INodeNo(ino), next, kernel_type(file_type), name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.0.listings().remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let name_bytes = u32::try_from(NAME_BYTES_MAX).unwrap_or(u32::MAX);
        reply.statfs(0, 0, 0, 0, 0, 4096, name_bytes, 4096);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let started = Instant::now();
        let value = self.0.files.xattr(ino.0, name);
        self.0.count(Kind::Xattr, started, &value);
        match value {
            Ok(value) => sized(reply, size, value.as_bytes()),
            Err(refusal) => reply.error(errno(&refusal)),
        }
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let started = Instant::now();
        let all = self.0.files.xattrs(ino.0);
        self.0.count(Kind::Xattr, started, &all);
        match all {
            Ok(all) => sized(
                reply,
                size,
                all.iter()
                    .map(|(name, _)| format!("{name}\0"))
                    .collect::<String>()
                    .as_bytes(),
            ),
            Err(refusal) => reply.error(errno(&refusal)),
        }
    }
}

const fn kernel_type(file_type: FileType) -> fuser::FileType {
    match file_type {
        FileType::File => fuser::FileType::RegularFile,
        FileType::Dir => fuser::FileType::Directory,
        FileType::Link => fuser::FileType::Symlink,
    }
}

/// Replies with a value, or with its length if the kernel requested that.
fn sized(reply: ReplyXattr, size: u32, value: &[u8]) {
    let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
    match size {
        0 => reply.size(length),
        n if n >= length => reply.data(value),
        _ => reply.error(fuser::Errno::ERANGE),
    }
}
