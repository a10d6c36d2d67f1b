//! What is being written to a store passes a gate, which a signal closes: nothing more is written then, and files
//! that were begun are given up.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyperslab::vfs::{BoxFuture, FileWriter};

/// How long a signal waits for what is being sent.
const GRACE: Duration = Duration::from_secs(3);

/// What is being written passes here, until it is closed.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    through: Condvar,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// What was put is half of something: the other half passes even where this is closed.
    held: bool,
    underway: usize,
    /// Files that are being written, but for those whose writer is at work.
    begun: HashMap<u64, Box<dyn FileWriter>>,
    /// How many files were begun.
    count: u64,
}

impl Gate {
    /// Never comes back once the gate is closed.
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

    /// Lets all pass until [`Gate::release`]: who closes waits for that.
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

    /// A writer whose every step passes here.
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

    /// Closes, waits for what is underway, which may come through later still, and gives up the files that were begun.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waited = self.through.wait_timeout_while(state, GRACE, |s| s.underway > 0);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let begun = std::mem::take(&mut state.begun);
        drop(state);
        for writer in begun.into_values() {
            // There is nobody to tell of a failure.
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

/// Something underway.
pub(crate) struct Passed<'a>(&'a Gate);

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        self.0.lock().underway -= 1;
        self.0.through.notify_all();
    }
}

/// The writer of this number, which lies with the gate while it has nothing to do.
struct Writer {
    number: u64,
    gate: Arc<Gate>,
}

impl Writer {
    fn take(&self) -> hyperslab::Result<Box<dyn FileWriter>> {
        let taken = self.gate.lock().begun.remove(&self.number);
        // Gone where a step before failed half-way.
        taken.ok_or(hyperslab::Error::Cancelled)
    }
}

impl FileWriter for Writer {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _passed = self.gate.pass().await;
            let mut inner = self.take()?;
            let done = inner.append(part).await;
            self.gate.lock().begun.insert(self.number, inner);
            done
        })
    }

    fn settle(&mut self) {
        if let Some(inner) = self.gate.lock().begun.get_mut(&self.number) {
            inner.settle();
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
        // Outside the lock: it may have files to remove.
        drop(given_up);
    }
}
