//! How many connections are open at a time, and which of them makes room for a new one.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a peer is watched before it counts as slow.
const WATCH: Duration = Duration::from_secs(4);
/// Bytes that a peer takes in that time unless it is slow.
const WATCH_BYTES: u64 = 32 << 10;

/// The open connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    watch: Duration,
    state: Mutex<State>,
    /// A connection has ended, or waits for a request.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    /// Connections without a request to answer, the one that has waited longest first.
    idle: BTreeMap<u64, Arc<TcpStream>>,
    /// Connections that are being answered, the one whose answer began first in front.
    busy: BTreeMap<u64, Answering>,
    /// The number that the next entry of either gets.
    next: u64,
}

/// A connection that is being answered.
#[derive(Debug)]
struct Answering {
    stream: Arc<TcpStream>,
    /// Bytes that the peer has taken.
    taken: Arc<AtomicU64>,
    /// What it had taken, and when.
    seen: (u64, Instant),
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The connection that makes room: the one that has been idle longest, else one whose peer takes next to nothing of
    /// its answer.
    fn dispensable(&mut self, watch: Duration) -> Option<Arc<TcpStream>> {
        if let Some((_, idle)) = self.idle.pop_first() {
            return Some(idle);
        }
        let now = Instant::now();
        let mut slow = None;
        for (number, answering) in &mut self.busy {
            let (seen, since) = answering.seen;
            if now.duration_since(since) < watch {
                continue;
            }
            let taken = answering.taken.load(Ordering::Relaxed);
            if taken - seen < WATCH_BYTES {
                slow = Some(*number);
                break;
            }
            answering.seen = (taken, now);
        }
        Some(self.busy.remove(&slow?)?.stream)
    }
}

impl Connections {
    /// Room for so many at a time.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            watch: WATCH,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Takes a connection in. Where there is no room, another one is closed: its peer opens one again when it asks
    /// again. Where none can be spared, one of them has to be answered first.
    pub(super) fn admit(self: &Arc<Self>, stream: TcpStream) -> Connection {
        let mut state = self.lock();
        let mut closing = false;
        while state.open >= self.most {
            if !closing && let Some(dispensable) = state.dispensable(self.watch) {
                // Its thread sees the end of the stream, or a failure; gone already is as well.
                let _ = dispensable.shutdown(Shutdown::Both);
                closing = true;
            }
            // Slow peers change nothing, so time has to tell.
            let waited = self.changed.wait_timeout(state, self.watch / 4);
            let (found, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            (state, closing) = (found, closing && !timeout.timed_out());
        }
        state.open += 1;
        drop(state);
        Connection {
            all: Arc::clone(self),
            stream: Arc::new(stream),
            taken: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the open connections. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    stream: Arc<TcpStream>,
    taken: Arc<AtomicU64>,
}

impl Connection {
    /// The connection itself.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Runs `wait`, in which the peer owes a request: meanwhile the connection may be closed.
    pub(super) fn idle<T>(&self, wait: impl FnOnce() -> T) -> T {
        let number = {
            let mut state = self.all.lock();
            let number = state.number();
            state.idle.insert(number, Arc::clone(&self.stream));
            number
        };
        self.all.changed.notify_all();
        let value = wait();
        self.all.lock().idle.remove(&number);
        value
    }

    /// Runs `answer`, in which the peer owes to take the answer: meanwhile the connection may be closed if it does not.
    pub(super) fn busy<T>(&self, answer: impl FnOnce() -> T) -> T {
        let number = {
            let mut state = self.all.lock();
            let number = state.number();
            let answering = Answering {
                stream: Arc::clone(&self.stream),
                taken: Arc::clone(&self.taken),
                seen: (self.taken.load(Ordering::Relaxed), Instant::now()),
            };
            state.busy.insert(number, answering);
            number
        };
        let value = answer();
        self.all.lock().busy.remove(&number);
        value
    }
}

/// Writes to the peer, and counts what it takes.
impl Write for &Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.stream().write(bytes)?;
        self.taken.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream().flush()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().open -= 1;
        self.all.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Peers that ask and take nothing hold no place for ever.
    #[test]
    fn a_stalled_client_is_disconnected_for_a_new_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peers = Vec::new();
        let mut connect = || {
            peers.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            listener.accept().unwrap().0
        };
        let all = Arc::new(Connections {
            most: 1,
            watch: Duration::from_millis(40),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let slow = all.admit(connect());
        // It ends because its connection is closed: the peer never reads.
        let answered = std::thread::spawn(move || slow.busy(|| while (&slow).write(&[0; 4096]).is_ok() {}));
        let next = all.admit(connect());
        answered.join().unwrap();
        assert!((&next).write(b"x").is_ok());
    }
}
