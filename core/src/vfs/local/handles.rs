//! A cache of open files, so that reading many tiles opens each file once.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::root::LocalRoot;
use crate::cpu::Cpu;

/// The most files to keep open. Far below the usual limit of 1024 descriptors per process.
const OPEN_MAX: usize = 128;

/// The bytes that one core reads at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Whether one system call fills several buffers.
pub(super) const PARTS_AT_ONCE: bool = cfg!(target_os = "linux");

/// The open files of a store, by path. File contents never change, so an open file never becomes stale. If another
/// process removes a file, it stays readable until it is dropped here.
#[derive(Debug, Default)]
pub(super) struct Handles(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    files: HashMap<String, (u64, Arc<OpenFile>)>,
    clock: u64,
}

/// An open file and its size in bytes.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    pub(super) size: u64,
}

impl Handles {
    /// Opens the file `path` below `root`, or returns the cached one.
    pub(super) fn open(&self, root: &LocalRoot, path: &str) -> io::Result<Arc<OpenFile>> {
        if let Some(file) = self.get(path) {
            return Ok(file);
        }
        let file = Arc::new(Self::once(root, path)?);
        self.keep(path, &file);
        Ok(file)
    }

    /// The cached file `path`, if it is open.
    pub(super) fn get(&self, path: &str) -> Option<Arc<OpenFile>> {
        let mut guard = self.lock();
        let open = &mut *guard;
        open.clock += 1;
        let (used, file) = open.files.get_mut(path)?;
        *used = open.clock;
        Some(Arc::clone(file))
    }

    /// Adds the file `path` to the cache.
    pub(super) fn keep(&self, path: &str, file: &Arc<OpenFile>) {
        let mut open = self.lock();
        if open.files.len() >= OPEN_MAX {
            // Drop the older half at once. Finding the oldest file each time would cost more than opening a file.
            let mut times: Vec<u64> = open.files.values().map(|(used, _)| *used).collect();
            let (_, &mut middle, _) = times.select_nth_unstable(OPEN_MAX / 2);
            open.files.retain(|_, (used, _)| *used > middle);
        }
        let used = open.clock;
        open.files.insert(path.to_owned(), (used, Arc::clone(file)));
    }

    /// Opens the file `path` below `root` without caching it.
    pub(super) fn once(root: &LocalRoot, path: &str) -> io::Result<OpenFile> {
        let (file, size) = root.open(path)?;
        Ok(OpenFile { file, size })
    }

    /// Drops the file `path`, and all files below the folder `path`.
    pub(super) fn forget(&self, path: &str) {
        let below = |p: &str| {
            path.is_empty()
                || p.strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.lock().files.retain(|p, _| !below(p));
    }

    /// The number of open files.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.lock().files.len()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenFile {
    /// Reads each range. The caller has checked the ranges against the size.
    ///
    /// Large reads are split across cores. Reads from the page cache are copies into fresh memory, and mapping that
    /// memory on a single core is far slower than memory bandwidth.
    pub(super) fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).map_err(io::Error::other);
        let mut buffers = ranges
            .iter()
            .map(|r| Ok(vec![0; length(r)?]))
            .collect::<io::Result<Vec<Vec<u8>>>>()?;
        let mut jobs: Vec<(u64, &mut [u8])> = Vec::new();
        let mut total = 0;
        for (range, buffer) in ranges.iter().zip(&mut buffers) {
            total += buffer.len();
            let starts = (range.start..).step_by(PIECE_BYTES);
            jobs.extend(starts.zip(buffer.chunks_mut(PIECE_BYTES)));
        }
        let cpu = if total > PIECE_BYTES {
            Cpu::default()
        } else {
            Cpu::Inline
        };
        cpu.try_map_owned(jobs, |(at, piece)| self.read_exact(piece, at))?;
        Ok(buffers)
    }

    pub(super) fn read_exact(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at);
        #[cfg(windows)]
        return read_exact_at(&self.file, bytes, at);
    }

    /// Fills `parts`, one after another, with the bytes from `at` on.
    #[cfg(target_os = "linux")]
    pub(super) fn read_parts(&self, mut parts: &mut [IoSliceMut<'_>], mut at: u64) -> io::Result<()> {
        /// The limit of the system per call.
        const PARTS_MAX: usize = 1024;
        while !parts.is_empty() {
            let now = parts.len().min(PARTS_MAX);
            let n = match rustix::io::preadv(&self.file, &mut parts[..now], at) {
                Err(rustix::io::Errno::INTR) => continue,
                read => read?,
            };
            if n == 0 && parts.first().is_some_and(|p| !p.is_empty()) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            at += n as u64;
            IoSliceMut::advance_slices(&mut parts, n);
        }
        Ok(())
    }

    /// Fills `parts`, one after another, with the bytes from `at` on.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read_parts(&self, parts: &mut [IoSliceMut<'_>], mut at: u64) -> io::Result<()> {
        for part in parts {
            self.read_exact(part, at)?;
            at += part.len() as u64;
        }
        Ok(())
    }
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[n..];
        at += n as u64;
    }
    Ok(())
}
