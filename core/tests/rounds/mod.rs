//! A store with a simulated clock: every response takes one round, and a round passes when nothing else can run.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use hyperslab::vfs::coalesce::{GAP_BYTES, MERGED_BYTES_MAX, coalesce};
use hyperslab::vfs::{BoxFuture, Capabilities, Content, Deletion, Entry, Extent, FileWriter, MemVfs, Vfs, WriteMode};

/// The requests that a store received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Listings of folders.
    pub(crate) lists: usize,
    /// Reads of whole files.
    pub(crate) wholes: usize,
    /// Reads of the ends of files.
    pub(crate) tails: usize,
    /// Reads of ranges that are not merged with a neighbour.
    pub(crate) ranges: usize,
    /// Requests for the size of a file.
    pub(crate) sizes: usize,
    /// Number of rounds in which everything waited.
    pub(crate) rounds: usize,
}

/// A read-only store in memory with simulated latency.
#[derive(Clone)]
pub(crate) struct RoundsVfs {
    files: MemVfs,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    seen: Seen,
    waiting: Vec<Waker>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl RoundsVfs {
    pub(crate) fn new(files: MemVfs) -> Self {
        Self {
            files,
            state: Arc::default(),
        }
    }

    /// The requests since the last call of this function.
    pub(crate) fn seen(&self) -> Seen {
        std::mem::take(&mut self.state.lock().unwrap().seen)
    }

    /// Runs `work` on this thread, and lets a round pass whenever it waits.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&flag));
        loop {
            while flag.0.swap(false, Ordering::SeqCst) {
                if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return done;
                }
            }
            let mut state = self.state.lock().unwrap();
            state.seen.rounds += 1;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            assert!(!waiting.is_empty(), "the work waits for something other than the store");
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    /// Counts a request. The response `found` arrives a round later.
    fn ask<'a, T: Send + 'a>(
        &'a self,
        count: impl FnOnce(&mut Seen) + Send + 'a,
        found: BoxFuture<'a, T>,
    ) -> BoxFuture<'a, T> {
        Box::pin(async move {
            count(&mut self.state.lock().unwrap().seen);
            Round {
                state: &self.state,
                asked: false,
            }
            .await;
            found.await
        })
    }
}

struct Round<'a> {
    state: &'a Mutex<State>,
    asked: bool,
}

impl Future for Round<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.asked, true) {
            return Poll::Ready(());
        }
        self.state.lock().unwrap().waiting.push(context.waker().clone());
        Poll::Pending
    }
}

fn nothing_is_written<T: Send + 'static>() -> BoxFuture<'static, T> {
    Box::pin(async { panic!("a read writes") })
}

impl Vfs for RoundsVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        self.files.capabilities()
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        let count = move |s: &mut Seen| match extent {
            Extent::Whole => s.wholes += 1,
            Extent::Tail(_) => s.tails += 1,
            Extent::Ranges(ranges) => {
                s.ranges += coalesce(ranges, GAP_BYTES, MERGED_BYTES_MAX).unwrap().fetches.len();
            }
            Extent::Size => s.sizes += 1,
        };
        self.ask(count, self.files.fetch(path, extent))
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        self.ask(|s| s.lists += 1, self.files.list(dir))
    }

    fn write<'a>(&'a self, _path: &'a str, _parts: Vec<Bytes>, _mode: WriteMode) -> BoxFuture<'a, ()> {
        nothing_is_written()
    }

    fn create<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        nothing_is_written()
    }

    fn create_dir<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        nothing_is_written()
    }

    fn delete<'a>(&'a self, _path: &'a str, _what: Deletion) -> BoxFuture<'a, ()> {
        nothing_is_written()
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        nothing_is_written()
    }
}
