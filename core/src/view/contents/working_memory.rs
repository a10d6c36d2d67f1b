//! A bound on the memory of work under way. No library in use lets callers wait for a number of bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;

/// Memory for work under way, in bytes. Work that needs more than is free waits in order. Clones share the memory.
#[derive(Debug, Clone)]
pub(super) struct WorkingMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: u64,
    waiting: VecDeque<(u64, oneshot::Sender<Taken>)>,
}

/// Bytes that are in use until this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    bytes: u64,
    from: WorkingMemory,
}

impl WorkingMemory {
    pub(super) fn new(bytes_max: u64) -> Self {
        let (free, waiting) = (bytes_max, VecDeque::new());
        Self(Arc::new(Shared {
            bytes_max,
            state: Mutex::new(State { free, waiting }),
        }))
    }

    /// The size of the memory in bytes.
    pub(super) fn bytes_max(&self) -> u64 {
        self.0.bytes_max
    }

    /// Waits until `bytes` are free. Work that needs more than there is takes all of it, and so runs alone.
    pub(super) async fn take(&self, bytes: u64) -> Taken {
        let bytes = bytes.min(self.0.bytes_max);
        loop {
            let wait = {
                let mut state = self.lock();
                if state.waiting.is_empty() && bytes <= state.free {
                    state.free -= bytes;
                    return self.taken(bytes);
                }
                let (sender, wait) = oneshot::channel();
                state.waiting.push_back((bytes, sender));
                wait
            };
            // A sender is dropped only with the memory, which `self` holds.
            if let Ok(taken) = wait.await {
                return taken;
            }
        }
    }

    fn taken(&self, bytes: u64) -> Taken {
        let from = self.clone();
        Taken { bytes, from }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Code under the lock does not panic, so the data is consistent.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut granted = Vec::new();
        let mut state = self.from.lock();
        state.free += self.bytes;
        while let Some((bytes, sender)) = state.waiting.pop_front() {
            if bytes > state.free {
                state.waiting.push_front((bytes, sender));
                break;
            }
            state.free -= bytes;
            granted.push((bytes, sender));
        }
        drop(state);
        for (bytes, sender) in granted {
            // If the waiting work was cancelled, this returns the bytes.
            drop(sender.send(self.from.taken(bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn work_waits_in_order_until_bytes_are_free() {
        let memory = WorkingMemory::new(100);
        let first = memory.take(60).now_or_never().unwrap();
        let mut large = Box::pin(memory.take(1000));
        let mut small = Box::pin(memory.take(10));
        assert!((&mut large).now_or_never().is_none());
        assert!((&mut small).now_or_never().is_none(), "it would overtake");
        drop(first);
        let all = (&mut large).now_or_never().unwrap();
        assert!((&mut small).now_or_never().is_none());
        drop(all);
        assert!((&mut small).now_or_never().is_some());
    }

    #[test]
    fn cancelled_work_returns_its_bytes() {
        let memory = WorkingMemory::new(100);
        let first = memory.take(100).now_or_never().unwrap();
        let (mut before, mut granted) = (Box::pin(memory.take(50)), Box::pin(memory.take(50)));
        assert!((&mut before).now_or_never().is_none() && (&mut granted).now_or_never().is_none());
        drop(before);
        drop(first);
        drop(granted);
        assert!(memory.take(100).now_or_never().is_some());
    }
}
