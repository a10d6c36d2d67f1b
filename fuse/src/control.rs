//! The control folder `.hyperslab/` in the root: what the mount does, as files.
//!
//! The folder is not listed, so that programs that walk the tree do not meet it. Its files are written when they are
//! opened. `stat` gives them the size 0, as it does for files in `/proc`.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use hyperslab::Datatype;
use hyperslab::internals::{calendar, printable};
use hyperslab::vfs;
use hyperslab::view::FileType;

use crate::commands;
use crate::errno::{FsError, Refusal, errno_name};
use crate::filesystem::{Attributes, FileSystem, Listed, lock, now_ms};
use crate::metrics::Gauges;

/// The name of the folder in the root.
pub(crate) const NAME: &str = ".hyperslab";
/// The inode of the folder. Its files have the numbers that follow.
const FOLDER: u64 = u64::MAX - 64;

/// The files, by number.
const FILES: [(&str, File); 6] = [
    ("cache", File::Cache),
    ("errors", File::Errors),
    ("metrics", File::Metrics),
    ("run", File::Run),
    ("stats.json", File::Stats),
    ("version", File::Version),
];

#[derive(Debug, Clone, Copy)]
enum File {
    Cache,
    Errors,
    Metrics,
    Run,
    Stats,
    Version,
}

/// Contents of open files. They stay as they were when the file was opened.
#[derive(Debug, Default)]
pub(crate) struct Control {
    open: Mutex<HashMap<u64, Bytes>>,
    next_handle: AtomicU64,
    /// The last command and its result.
    ran: Mutex<String>,
}

/// Whether an inode belongs to the control folder.
pub(crate) fn has(ino: u64) -> bool {
    ino >= FOLDER
}

/// Whether a file takes commands in a writable mount.
pub(crate) fn takes_commands(ino: u64, files: &FileSystem) -> bool {
    files.is_writable() && has(ino) && matches!(file(ino), Ok(File::Cache | File::Run))
}

/// Carries out the command that was written into a file.
pub(crate) fn command(ino: u64, words: &[u8], files: &FileSystem) -> Result<(), FsError> {
    match file(ino) {
        _ if !takes_commands(ino, files) => Err(FsError::ReadOnly),
        Ok(File::Run) => run(&String::from_utf8_lossy(words), files),
        _ => drop_cache(words, files),
    }
}

/// Runs a command, and keeps its result for readers of the file.
fn run(text: &str, files: &FileSystem) -> Result<(), FsError> {
    let done = commands::run(text, files);
    let result = done.as_ref().map_or_else(ToString::to_string, String::clone);
    let shown = format!("{}\n{}\n", printable(text.trim(), &[]), result.trim_end());
    *lock(&files.control.ran) = shown;
    let path = format!("{NAME}/run");
    done.map(drop)
        .map_err(|refusal| files.complain_at(&path, true, refusal))
}

/// `drop` empties the cache.
fn drop_cache(words: &[u8], files: &FileSystem) -> Result<(), FsError> {
    if words.trim_ascii() != b"drop" {
        return Err(Refusal::invalid("unknown command; write 'drop' to empty the cache").into());
    }
    files.cache().clear();
    Ok(())
}

/// The attributes of the folder.
pub(crate) fn folder() -> Attributes {
    attributes_of(FOLDER, FileType::Dir)
}

/// Looks up a name in the folder.
pub(crate) fn lookup(parent: u64, name: &str, files: &FileSystem) -> Result<Attributes, FsError> {
    if parent != FOLDER {
        return Err(FsError::NoFolder);
    }
    let number = FILES.iter().position(|(n, _)| *n == name).ok_or(FsError::Absent)?;
    attributes(ino(number), files)
}

/// The attributes of the folder or of a file in it.
pub(crate) fn attributes(ino: u64, files: &FileSystem) -> Result<Attributes, FsError> {
    match ino {
        FOLDER => Ok(folder()),
        _ => file(ino).map(|_| Attributes {
            writable: takes_commands(ino, files),
            ..attributes_of(ino, FileType::File)
        }),
    }
}

/// The names in the folder.
pub(crate) fn list(folder: u64) -> Result<Vec<Listed>, FsError> {
    if folder != FOLDER {
        return Err(FsError::NoFolder);
    }
    let listed = FILES.iter().enumerate().map(|(number, (name, _))| Listed {
        ino: ino(number),
        name: (*name).to_owned(),
        file_type: FileType::File,
    });
    Ok(listed.collect())
}

fn ino(number: usize) -> u64 {
    FOLDER + 1 + number as u64
}

fn file(ino: u64) -> Result<File, FsError> {
    if ino == FOLDER {
        return Err(FsError::IsFolder);
    }
    let number = usize::try_from(ino - FOLDER - 1).ok();
    number
        .and_then(|n| FILES.get(n))
        .map(|(_, file)| *file)
        .ok_or(FsError::Stale)
}

fn attributes_of(ino: u64, file_type: FileType) -> Attributes {
    Attributes {
        ino,
        size: 0,
        blocks: 0,
        file_type,
        modified_ms: now_ms(),
        writable: false,
        has_name: true,
    }
}

impl Control {
    /// Opens a file with its contents of this moment, and returns its handle.
    pub(crate) fn open(&self, ino: u64, files: &FileSystem) -> Result<u64, FsError> {
        let contents = contents(file(ino)?, files);
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).insert(handle, contents.into());
        Ok(handle)
    }

    /// Reads a part of an open file.
    pub(crate) fn read(&self, handle: u64, offset: u64, size: u32) -> Result<Bytes, FsError> {
        let contents = lock(&self.open).get(&handle).cloned().ok_or(FsError::Stale)?;
        let at = |v: u64| usize::try_from(v).map_or(contents.len(), |v| v.min(contents.len()));
        Ok(contents.slice(at(offset)..at(offset.saturating_add(u64::from(size)))))
    }

    /// Closes an open file.
    pub(crate) fn close(&self, handle: u64) {
        lock(&self.open).remove(&handle);
    }
}

fn contents(file: File, files: &FileSystem) -> String {
    match file {
        File::Cache => cache(files),
        File::Errors => errors(files),
        File::Run => format!("{}{}", commands::HELP, last_command(files)),
        File::Metrics => files.metrics().prometheus(gauges(files)),
        File::Stats => format!("{:#}\n", files.metrics().json(gauges(files))),
        File::Version => format!("fuse-mount {}\n", env!("CARGO_PKG_VERSION")),
    }
}

/// The last command with its result, after an empty line.
fn last_command(files: &FileSystem) -> String {
    let ran = lock(&files.control.ran).clone();
    if ran.is_empty() { ran } else { format!("\n{ran}") }
}

fn gauges(files: &FileSystem) -> Gauges {
    Gauges {
        open_files: files.open_files() as u64,
        inodes: files.known() as u64,
        cache_bytes: files.cache().bytes(),
        resident_bytes: resident_bytes().unwrap_or(0),
    }
}

/// The memory of this process. The second number of the file is in pages.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// A line for each path that failed, the newest first: time, error, path, reason.
fn errors(files: &FileSystem) -> String {
    let line = |(path, reason): (String, crate::reasons::Reason)| {
        let time = i64::try_from(reason.time_ms).unwrap_or(i64::MAX);
        let time = calendar::format(time, Datatype::DatetimeMs);
        let text = format!("{time}Z\t{}\t{path}\t{}", errno_name(reason.number), reason.why);
        printable(&vfs::redact(&text), &['\t']).into_owned() + "\n"
    };
    files.reasons.newest().into_iter().map(line).collect()
}

/// A line for each kind of value in the cache, and one for all: kind, number, bytes.
fn cache(files: &FileSystem) -> String {
    let contents = files.cache().contents();
    let lines = contents
        .iter()
        .map(|(kind, (count, bytes))| format!("{kind}\t{count}\t{bytes}\n"));
    let count: u64 = contents.values().map(|(count, _)| count).sum();
    let (bytes, most) = (files.cache().bytes(), files.cache().bytes_max());
    format!(
        "contents\tnumber\tbytes\n{}all\t{count}\t{bytes}\nlimit\t\t{most}\n",
        lines.collect::<String>()
    )
}
