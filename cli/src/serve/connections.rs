//! How many connections are open at a time, and which of them makes room for a new one.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The open connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    state: Mutex<State>,
    /// A connection has ended, or waits for a request.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    /// Connections without a request to answer, the one that has waited longest first.
    idle: BTreeMap<u64, Arc<TcpStream>>,
    /// The number that the next one to wait gets.
    next: u64,
}

impl Connections {
    /// Room for so many at a time.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Takes a connection in. Where there is no room, the one that has been idle longest is closed: its peer opens
    /// another when it asks again. Where none is idle, one of them has to be answered first.
    pub(super) fn admit(self: &Arc<Self>, stream: TcpStream) -> Connection {
        let mut state = self.lock();
        let mut closing = false;
        while state.open >= self.most {
            if !closing && let Some((_, idle)) = state.idle.pop_first() {
                // Its thread sees the end of the stream, or a failure; gone already is as well.
                let _ = idle.shutdown(Shutdown::Both);
                closing = true;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.open += 1;
        drop(state);
        Connection {
            all: Arc::clone(self),
            stream: Arc::new(stream),
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
            let number = state.next;
            state.next += 1;
            state.idle.insert(number, Arc::clone(&self.stream));
            number
        };
        self.all.changed.notify_all();
        let value = wait();
        self.all.lock().idle.remove(&number);
        value
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.lock().open -= 1;
        self.all.changed.notify_all();
    }
}
