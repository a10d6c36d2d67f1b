//! Passes the kernel's requests to a [`FileSystem`].

use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use hyperslab::view::FileType;

use crate::control;
use crate::errno::{FsError, errno};
use crate::filesystem::{Attributes, FileSystem, Listed, NAME_BYTES_MAX};
use crate::kernel::{appends, milliseconds, open_mode, process, sized};
use crate::metrics::Kind;
use crate::unclaimed::Unclaimed;
use crate::workers::Workers;
use crate::writing::NewAttributes;

/// How long the kernel may cache the attributes of a file. They never change, unlike a folder's.
const FOREVER: Duration = Duration::from_secs(24 * 3600);
/// The largest number of background requests of the kernel.
const BACKGROUND: u16 = 64;
/// The kernel's read-ahead, in bytes.
const READAHEAD: u32 = 1 << 20;
/// The unit in which `statfs` counts space, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// The handle of all open files outside of `put/`.
const READ_ONLY: FileHandle = FileHandle(0);

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

/// The things that workers need to answer.
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

impl Adapter {
    /// Runs a request that must not fail before its work has ended.
    fn run_to_end(
        &self,
        request: impl FnOnce(&FileSystem) -> Result<(), FsError> + Send + 'static,
        answer: impl FnOnce(Result<(), FsError>) + Send + 'static,
    ) {
        let (files, shared) = (Arc::clone(&self.0.files), Arc::clone(&self.0));
        let started = Instant::now();
        let answer = move |result: Result<(), FsError>| {
            shared.count(Kind::Write, started, &result);
            answer(result);
        };
        self.0.workers.run_to_end(move || request(&files), answer);
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
            perm: match (a.file_type, a.writable) {
                (FileType::File, false) => 0o444 & !self.owner.umask,
                (FileType::File, true) => 0o644 & !self.owner.umask,
                (FileType::Dir, false) => 0o555 & !self.owner.umask,
                (FileType::Dir, true) => 0o755 & !self.owner.umask,
                (FileType::Link, _) => 0o777,
            },
            nlink: match a.file_type {
                FileType::Dir => 2,
                FileType::File | FileType::Link => u32::from(a.has_name),
            },
            uid: self.owner.uid,
            gid: self.owner.gid,
            rdev: 0,
            blksize: 1 << 17,
            flags: 0,
        }
    }

    /// How long the kernel may cache a name. A program that has written reads what it wrote, so a writable mount is
    /// asked each time.
    fn name_ttl(&self) -> Duration {
        if self.files.is_writable() {
            Duration::ZERO
        } else {
            self.files.ttl()
        }
    }

    /// The kernel must not cache small files that change arrays.
    fn created_flags(&self, ino: u64) -> FopenFlags {
        if self.files.is_put(ino) {
            FopenFlags::empty()
        } else {
            FopenFlags::FOPEN_DIRECT_IO
        }
    }

    fn attr_ttl(&self, a: Attributes) -> Duration {
        match a.file_type {
            _ if a.writable || control::has(a.ino) => Duration::ZERO,
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
        // An `open` that replaces a file says so.
        let _ = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
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
                &shared.name_ttl(),
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
                    writable: false,
                    has_name: false,
                };
                reply.entry(&shared.name_ttl(), &shared.stat(none), Generation(0));
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

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let started = Instant::now();
        let reads = flags.acc_mode() == fuser::OpenAccMode::O_RDONLY;
        if !reads && self.0.files.takes_changes(ino.0) {
            let (files, mode) = (Arc::clone(&self.0.files), open_mode(request, flags));
            let request = move |_: &FileSystem| Unclaimed::document(files, ino.0, mode);
            return self.run(Kind::Open, ino, request, |_, opened| match opened {
                // The kernel keeps the old contents of a file that is replaced, which other files may have later.
                Ok(opened) => reply.opened(FileHandle(opened.claim()), FopenFlags::FOPEN_DIRECT_IO),
                Err(refusal) => reply.error(errno(&refusal)),
            });
        }
        if self.0.files.is_put(ino.0) {
            let opened = self.0.files.open_put(ino.0, open_mode(request, flags));
            self.0.count(Kind::Open, started, &opened);
            return match opened {
                Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
                Err(refusal) => reply.error(errno(&refusal)),
            };
        }
        let controls = reads || control::takes_commands(ino.0, &self.0.files);
        if let Some(opened) = controls.then(|| self.0.files.open_control(ino.0)).flatten() {
            self.0.count(Kind::Open, started, &opened);
            return match opened {
                // Its size is not known before, so the kernel must not cache it.
                Ok(handle) => {
                    let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
                    reply.opened(FileHandle(handle), flags);
                }
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
            Ok(()) => reply.opened(READ_ONLY, FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH),
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
        let request = move |files: &FileSystem| {
            let control = files.read_control(ino.0, handle.0, offset, size);
            let read = control.or_else(|| files.read_document(handle.0, offset, size));
            read.unwrap_or_else(|| files.read(ino.0, offset, size))
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
        if self.0.files.close_control(ino.0, handle.0) {
            return reply.ok();
        }
        if handle == READ_ONLY {
            self.0.files.close(ino.0);
            return reply.ok();
        }
        let request = move |files: &FileSystem| {
            files.close_put(ino.0, handle.0);
            Ok(())
        };
        self.run_to_end(request, |done| answer(reply, done));
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let (name, process) = (name.to_owned(), process(request));
        let files = Arc::clone(&self.0.files);
        let request = move |_: &FileSystem| Unclaimed::created(files, parent.0, &name, process);
        self.run(Kind::Write, parent, request, |shared, created| match created {
            Ok((file, opened)) => reply.created(
                &Duration::ZERO,
                &shared.stat(file),
                Generation(0),
                FileHandle(opened.claim()),
                shared.created_flags(file.ino),
            ),
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_vec();
        let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        // The kernel takes the end of the old contents for that of the file.
        let in_document = (!appends(flags)).then_some(offset);
        let request = move |files: &FileSystem| {
            let written = files.write_document(handle.0, in_document, &data);
            written.unwrap_or_else(|| files.write(ino.0, offset, &data))
        };
        let answer = move |written: Result<(), FsError>| match written {
            Ok(()) => reply.written(size),
            Err(refusal) => reply.error(errno(&refusal)),
        };
        // A command may take long.
        if control::has(ino.0) {
            self.run_to_end(request, answer);
        } else {
            self.run(Kind::Write, ino, request, move |_, written| answer(written));
        }
    }

    fn flush(&self, request: &Request, ino: INodeNo, handle: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        let process = process(request);
        let request = move |files: &FileSystem| files.flush(ino.0, handle.0, process);
        self.run_to_end(request, |done| answer(reply, done));
    }

    fn fsync(&self, _: &Request, ino: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let request = move |files: &FileSystem| {
            let synced = files.sync_document(handle.0);
            synced.unwrap_or_else(|| files.sync(ino.0))
        };
        self.run_to_end(request, |done| answer(reply, done));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let modified_ms = modified.map(|time| match time {
            TimeOrNow::SpecificTime(time) => milliseconds(time),
            TimeOrNow::Now => milliseconds(SystemTime::now()),
        });
        let new = NewAttributes { size, modified_ms };
        let request = move |files: &FileSystem| {
            let set = handle.and_then(|handle| files.set_document_size(ino.0, handle.0, size));
            set.unwrap_or_else(|| files.set_attributes(ino.0, new))
        };
        self.run(Kind::Write, ino, request, |shared, set| match set {
            Ok(set) => reply.attr(&Duration::ZERO, &shared.stat(set)),
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let replace = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        if !(flags - RenameFlags::RENAME_NOREPLACE).is_empty() {
            return reply.error(fuser::Errno::EINVAL);
        }
        let (name, new_name) = (name.to_owned(), new_name.to_owned());
        let request = move |files: &FileSystem| files.rename((parent.0, &name), (new_parent.0, &new_name), replace);
        self.run_to_end(request, |done| answer(reply, done));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_owned();
        let request = move |files: &FileSystem| files.unlink(parent.0, &name);
        self.run_to_end(request, |done| answer(reply, done));
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let name = name.to_owned();
        let request = move |files: &FileSystem| files.make_folder(parent.0, &name);
        self.run(Kind::Write, parent, request, |shared, made| match made {
            Ok(made) => reply.entry(&Duration::ZERO, &shared.stat(made), Generation(0)),
            Err(refusal) => reply.error(errno(&refusal)),
        });
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(errno(&FsError::ReadOnly));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.0.files.remove_folder(parent.0, name));
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
        let (all, free) = self.0.files.space();
        let (all, free) = (all / BLOCK_BYTES, free / BLOCK_BYTES);
        let block_bytes = u32::try_from(BLOCK_BYTES).unwrap_or(u32::MAX);
        reply.statfs(all, free, free, 0, 0, block_bytes, name_bytes, block_bytes);
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

fn answer(reply: ReplyEmpty, result: Result<(), FsError>) {
    match result {
        Ok(()) => reply.ok(),
        Err(refusal) => reply.error(errno(&refusal)),
    }
}
