//! A gate that every write to a store passes. A signal closes it: no further write starts, and unfinished files are
//! aborted.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyperslab::vfs::{BoxFuture, FileWriter};

use crate::progress;

/// How long a signal waits for writes in progress.
const GRACE: Duration = Duration::from_secs(3);

/// Lets writes pass until it is closed.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    through: Condvar,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// Whether a change is half written. Its other half passes even if the gate is closed.
    held: bool,
    underway: usize,
    /// The writers of unfinished files, except those with an operation in progress.
    begun: HashMap<u64, Box<dyn FileWriter>>,
    /// How many files were created.
    count: u64,
}

impl Gate {
    /// Passes the gate. Never returns once the gate is closed.
    pub(crate) async fn pass(&self) -> Passed<'_> {
        let passed = {
            let mut state = self.lock();
            let open = !state.closed || state.held;
            state.underway += usize::from(open);
            open
        };
        if !passed {
            std::future::pending::<()>().await;
        }
        Passed(self)
    }

    /// Lets all writes pass until [`Gate::release`]; [`Gate::close`] waits for that.
    pub(crate) fn hold(&self) {
        let mut state = self.lock();
        if !state.held {
            state.held = true;
            state.underway += 1;
        }
    }

    /// Ends a hold, if there is one.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        if std::mem::take(&mut state.held) {
            state.underway -= 1;
        }
        drop(state);
        self.through.notify_all();
    }

    /// Wraps a writer so that each of its operations passes the gate.
    pub(crate) fn guard(self: &Arc<Self>, inner: Box<dyn FileWriter>) -> Box<dyn FileWriter> {
        let mut state = self.lock();
        state.count += 1;
        let number = state.count;
        state.begun.insert(number, inner);
        Box::new(Writer {
            number,
            gate: Arc::clone(self),
        })
    }

    /// Closes the gate, waits a few seconds for writes in progress, and aborts unfinished files. A slower write may
    /// still succeed later.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waited = self.through.wait_timeout_while(state, GRACE, |s| s.underway > 0);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let begun = std::mem::take(&mut state.begun);
        drop(state);
        for writer in begun.into_values() {
            // An error cannot be reported here.
            let _ = pollster::block_on(writer.abort());
        }
    }

    #[cfg(test)]
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write in progress.
pub(crate) struct Passed<'a>(&'a Gate);

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        self.0.lock().underway -= 1;
        self.0.through.notify_all();
    }
}

/// A handle of a writer, which the gate keeps between operations.
struct Writer {
    number: u64,
    gate: Arc<Gate>,
}

impl Writer {
    fn take(&self) -> hyperslab::Result<Box<dyn FileWriter>> {
        let taken = self.gate.lock().begun.remove(&self.number);
        // It is missing if an earlier operation was cancelled, or if the gate is closed.
        taken.ok_or(hyperslab::Error::Cancelled)
    }
}

impl FileWriter for Writer {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            let mut inner = self.take()?;
            let bytes = part.len() as u64;
            let done = inner.append(part).await;
            progress::written(bytes);
            self.gate.lock().begun.insert(self.number, inner);
            done
        })
    }

    fn start_sync(&mut self) {
        if let Some(inner) = self.gate.lock().begun.get_mut(&self.number) {
            inner.start_sync();
        }
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            self.take()?.finish().await
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let given_up = self.gate.lock().begun.remove(&self.number);
        // Dropped outside the lock, because this may remove files.
        drop(given_up);
    }
}
