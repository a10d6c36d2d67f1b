//! Limits the number of open connections, and closes one of them to admit a new one.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a client is observed before it counts as slow.
const WATCH: Duration = Duration::from_secs(4);
/// A client that accepts fewer bytes in that time is slow.
const WATCH_BYTES: u64 = 32 << 10;

/// The open connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    watch: Duration,
    state: Mutex<State>,
    /// Signals that a connection has ended or has become idle.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    /// Connections without a request, the longest idle one first.
    idle: BTreeMap<u64, Arc<TcpStream>>,
    /// Connections that are being answered, the oldest answer first.
    busy: BTreeMap<u64, Answering>,
    /// The number of the latest entry of either map.
    next: u64,
}

/// A connection that is being answered.
#[derive(Debug)]
struct Answering {
    stream: Arc<TcpStream>,
    /// Bytes that the client has accepted.
    taken: Arc<AtomicU64>,
    /// The bytes accepted at the last check, and the time of that check.
    seen: (u64, Instant),
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Removes and returns a connection to close: the one that has been idle longest, else one with a slow client.
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
    /// Admits up to `most` connections at a time.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            watch: WATCH,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Admits a connection. If there is no room, closes another one, whose client can connect again. If all are busy,
    /// waits until one of them ends.
    pub(super) fn admit(self: &Arc<Self>, stream: TcpStream) -> Connection {
        let mut state = self.lock();
        let mut closing = false;
        while state.open >= self.most {
            if !closing && let Some(dispensable) = state.dispensable(self.watch) {
                // Its thread sees the end of the stream or an error. It may be closed already.
                let _ = dispensable.shutdown(Shutdown::Both);
                closing = true;
            }
            // A slow client sends no signal, so check again after a while.
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

/// An open connection. It ends when this is dropped.
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

    /// Runs `wait`, which waits for a request. The connection may be closed in the meantime.
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

    /// Runs `answer`, which sends an answer. The connection may be closed if the client is slow.
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

/// Writes to the client, and counts the bytes.
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

    /// Clients that never read their answers do not block others.
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
        // It ends because its connection is closed: the client never reads.
        let answered = std::thread::spawn(move || slow.busy(|| while (&slow).write(&[0; 4096]).is_ok() {}));
        let next = all.admit(connect());
        answered.join().unwrap();
        assert!((&next).write(b"x").is_ok());
    }
}
