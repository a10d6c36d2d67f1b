//! A store for tests that fails on demand and records its calls.

use std::io::IoSliceMut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{
    BoxFuture, Capabilities, Content, Deletion, Entry, Extent, FileWriter, LocalReads, ReadAt, Vfs, WriteMode,
};
use crate::blocking::block_on;
use crate::error::{Error, Result};

/// When and how a [`FaultyVfs`] fails. The default never fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fault {
    /// Fail at this call, counted from 0.
    pub at_call: Option<u64>,
    /// Fail at the write that exceeds this many bytes in total.
    pub after_bytes: Option<u64>,
    /// Fail all later calls too, as after a crash. Otherwise only one call fails.
    pub lasting: bool,
    /// Let the failing call take effect before it fails, as if the response was lost.
    pub after_effect: bool,
}

/// A call that the store received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method's name: `append` and `finish` for writers, and the methods of [`LocalReads`] and [`ReadAt`] for blocking
    /// reads.
    pub method: &'static str,
    /// The path passed to it.
    pub path: String,
    /// Bytes read or written, if the arguments say so.
    pub bytes: u64,
}

/// Wraps a store and injects faults. Clones share the calls and the fault.
#[derive(Clone)]
pub struct FaultyVfs {
    inner: Arc<dyn Vfs>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    fault: Fault,
    calls: Vec<Call>,
    written: u64,
    broken: bool,
    meanwhile: Option<(u64, Deed)>,
}

/// An action of another program on the store.
type Deed = Box<dyn FnOnce() + Send>;

/// The outcome of a call.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Pass,
    Fail,
    DoAndFail,
}

impl FaultyVfs {
    /// Wraps `inner`, failing according to `fault`.
    pub fn new(inner: Arc<dyn Vfs>, fault: Fault) -> Self {
        Self {
            inner,
            state: Arc::new(Mutex::new(State {
                fault,
                ..State::default()
            })),
        }
    }

    /// Replaces the fault, and counts calls and bytes from 0 again.
    pub fn set(&self, fault: Fault) {
        *self.lock() = State {
            fault,
            ..State::default()
        };
    }

    /// Runs `action`, as another program would, just before this call reaches the store. Calls are counted as in
    /// [`Fault::at_call`].
    pub fn before(&self, call: u64, action: impl FnOnce() + Send + 'static) {
        self.lock().meanwhile = Some((call, Box::new(action)));
    }

    /// All calls since the start or the last [`set`](Self::set).
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn verdict(&self, method: &'static str, path: &str, bytes: u64) -> Verdict {
        let mut state = self.lock();
        let number = state.calls.len() as u64;
        state.calls.push(Call {
            method,
            path: path.to_owned(),
            bytes,
        });
        if matches!(method, "put" | "overwrite" | "append") {
            state.written += bytes;
        }
        if let Some((_, action)) = state.meanwhile.take_if(|(at, _)| *at == number) {
            drop(state);
            action();
            state = self.lock();
        }
        if state.broken {
            return if state.fault.lasting {
                Verdict::Fail
            } else {
                Verdict::Pass
            };
        }
        let now = state.fault.at_call == Some(number) || state.fault.after_bytes.is_some_and(|max| state.written > max);
        state.broken = now;
        match (now, state.fault.after_effect) {
            (false, _) => Verdict::Pass,
            (true, false) => Verdict::Fail,
            (true, true) => Verdict::DoAndFail,
        }
    }

    async fn run<T>(
        &self,
        method: &'static str,
        path: &str,
        bytes: u64,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match self.verdict(method, path, bytes) {
            Verdict::Fail => Err(injected(path)),
            Verdict::Pass => call.await,
            Verdict::DoAndFail => {
                call.await?;
                Err(injected(path))
            }
        }
    }

    fn run_here<T>(&self, method: &'static str, path: &str, bytes: u64, call: impl FnOnce() -> Result<T>) -> Result<T> {
        block_on(self.run(method, path, bytes, async move { call() }))
    }
}

fn injected(path: &str) -> Error {
    Error::io(path, "an injected fault")
}

impl Vfs for FaultyVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        let inner = self.inner.capabilities();
        Capabilities {
            local_reads: inner.local_reads.map(|_| self as &dyn LocalReads),
            ..inner
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        let (method, bytes) = match extent {
            Extent::Whole => ("read_all", 0),
            Extent::Tail(bytes) => ("read_tail", bytes),
            Extent::Ranges(ranges) => ("read", ranges.iter().map(|r| r.end.saturating_sub(r.start)).sum()),
            Extent::Size => ("size", 0),
        };
        Box::pin(self.run(method, path, bytes, self.inner.fetch(path, extent)))
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        Box::pin(self.run("list", dir, 0, self.inner.list(dir)))
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        let bytes = parts.iter().map(|p| p.len() as u64).sum();
        let method = match mode {
            WriteMode::Create => "put",
            WriteMode::Replace => "overwrite",
        };
        // The inner store may act as soon as its future is created, so create it after the verdict.
        Box::pin(self.run(
            method,
            path,
            bytes,
            async move { self.inner.write(path, parts, mode).await },
        ))
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        let create = async move {
            let inner = self.inner.create(path).await?;
            let writer: Box<dyn FileWriter> = Box::new(FaultyWriter {
                store: self.clone(),
                path: path.to_owned(),
                inner,
            });
            Ok(writer)
        };
        Box::pin(self.run("create", path, 0, create))
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.run("create_dir", dir, 0, async move { self.inner.create_dir(dir).await }))
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        let method = match what {
            Deletion::File => "remove",
            Deletion::Folder => "remove_dir",
        };
        Box::pin(self.run(method, path, 0, async move { self.inner.delete(path, what).await }))
    }

    fn sync<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.run("sync", dir, 0, async move { self.inner.sync(dir).await }))
    }

    fn invalidate(&self) -> BoxFuture<'_, ()> {
        self.inner.invalidate()
    }
}

impl LocalReads for FaultyVfs {
    fn open<'a>(&'a self, path: &'a str) -> Result<Box<dyn ReadAt + 'a>> {
        let local_reads = self.inner.capabilities().local_reads.ok_or_else(|| injected(path))?;
        let inner = self.run_here("open", path, 0, || local_reads.open(path))?;
        Ok(Box::new(FaultyFile {
            store: self,
            path,
            inner,
        }))
    }
}

struct FaultyFile<'a> {
    store: &'a FaultyVfs,
    path: &'a str,
    inner: Box<dyn ReadAt + 'a>,
}

impl ReadAt for FaultyFile<'_> {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read_at(&self, out: &mut [u8], at: u64) -> Result<()> {
        let bytes = out.len() as u64;
        self.store
            .run_here("read_at", self.path, bytes, || self.inner.read_at(out, at))
    }

    fn read_parts_at(&self, parts: &mut [IoSliceMut<'_>], at: u64) -> Result<()> {
        let bytes = parts.iter().map(|p| p.len() as u64).sum();
        self.store.run_here("read_parts_at", self.path, bytes, || {
            self.inner.read_parts_at(parts, at)
        })
    }

    fn reads_parts_at_once(&self) -> bool {
        self.inner.reads_parts_at_once()
    }
}

struct FaultyWriter {
    store: FaultyVfs,
    path: String,
    inner: Box<dyn FileWriter>,
}

impl FileWriter for FaultyWriter {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        let Self { store, path, inner } = self;
        let bytes = part.len() as u64;
        Box::pin(store.run("append", path, bytes, async move { inner.append(part).await }))
    }

    fn start_sync(&mut self) {
        self.inner.start_sync();
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        let Self { store, path, inner } = *self;
        Box::pin(async move { store.run("finish", &path, 0, async move { inner.finish().await }).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfs::{MemVfs, VfsExt, conformance};

    fn faulty(fault: Fault) -> (FaultyVfs, MemVfs) {
        let mem = MemVfs::new();
        (FaultyVfs::new(Arc::new(mem.clone()), fault), mem)
    }

    #[test]
    fn without_a_fault_it_is_a_store() {
        block_on(conformance::check(&faulty(Fault::default()).0)).unwrap();
    }

    #[test]
    fn a_fault_passes_or_lasts() {
        for lasting in [false, true] {
            let (vfs, mem) = faulty(Fault {
                at_call: Some(1),
                lasting,
                ..Fault::default()
            });
            let done: Vec<bool> = ["a", "b", "c"]
                .map(|p| block_on(vfs.put(p, vec![Bytes::from("x")])).is_ok())
                .into();
            assert_eq!(done, [true, false, !lasting]);
            assert_eq!(mem.files().len(), done.iter().filter(|d| **d).count());
        }
    }

    #[test]
    fn an_answer_may_be_lost() {
        let (vfs, mem) = faulty(Fault {
            at_call: Some(0),
            after_effect: true,
            ..Fault::default()
        });
        assert!(block_on(vfs.put("a", vec![Bytes::from("x")])).is_err());
        assert_eq!(mem.files().len(), 1);
    }

    #[test]
    fn a_disk_may_be_full() {
        let (vfs, mem) = faulty(Fault {
            after_bytes: Some(10),
            ..Fault::default()
        });
        assert!(block_on(vfs.put("a", vec![Bytes::from("0123456789")])).is_ok());
        assert!(block_on(vfs.put("b", vec![Bytes::from("0")])).is_err());
        assert_eq!(mem.files().len(), 1);
        assert_eq!(vfs.calls().iter().map(|c| c.method).collect::<Vec<_>>(), ["put", "put"]);
    }

    #[cfg(feature = "fs")]
    #[test]
    fn a_wrapper_has_the_capabilities_of_its_store() {
        let dir = tempfile::tempdir().unwrap();
        let local: Arc<dyn Vfs> = Arc::new(crate::vfs::LocalVfs::new(dir.path()));
        block_on(local.put("a/f", vec![Bytes::from("x")])).unwrap();
        let left = std::fs::File::create(dir.path().join("a/.hyperslab-1-1-1.tmp")).unwrap();
        left.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let manifest: Arc<dyn Vfs> = Arc::new(crate::vfs::ManifestVfs::new(Arc::clone(&local)));
        let says = |vfs: &dyn Vfs| {
            let left = block_on(vfs.leftovers("a")).unwrap();
            (vfs.location("a"), vfs.capabilities().failures_are_final, left)
        };
        let expect = says(&*local);
        assert!(expect.0.is_some() && expect.1 && expect.2.len() == 1, "{expect:?}");
        assert_eq!(says(&FaultyVfs::new(manifest, Fault::default())), expect);
    }

    #[cfg(feature = "fs")]
    #[test]
    fn blocking_reads_fail_too() {
        let dir = tempfile::tempdir().unwrap();
        let local = Arc::new(crate::vfs::LocalVfs::new(dir.path()));
        block_on(local.put("f", vec![Bytes::from("abc")])).unwrap();
        let read = |at_call| {
            let fault = Fault {
                at_call,
                ..Fault::default()
            };
            let vfs = FaultyVfs::new(Arc::clone(&local) as Arc<dyn Vfs>, fault);
            let mut out = [0; 2];
            vfs.capabilities()
                .local_reads
                .unwrap()
                .open("f")?
                .read_at(&mut out, 1)?;
            assert_eq!(
                vfs.calls().iter().map(|c| (c.method, c.bytes)).collect::<Vec<_>>(),
                [("open", 0), ("read_at", 2)]
            );
            Ok::<_, Error>(out)
        };
        assert_eq!(read(None).unwrap(), *b"bc");
        assert!(read(Some(0)).is_err() && read(Some(1)).is_err());
    }
}
