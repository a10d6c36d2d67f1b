//! Worker threads with a timeout, so that every request is answered in time.
//!
//! A program that waits for a file system cannot be killed. Therefore the threads that serve the kernel do not work
//! themselves. They wait for a worker until the timeout.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::errno::FsError;

type Job = Box<dyn FnOnce() + Send>;

/// A pool of idle threads. It grows to the largest number of concurrent jobs.
#[derive(Clone)]
pub struct Workers {
    idle: Arc<Mutex<Vec<Sender<Job>>>>,
    timeout: Duration,
}

impl Workers {
    /// An empty pool. [`Workers::run`] waits at most `timeout` for a result.
    pub fn new(timeout: Duration) -> Self {
        Self {
            idle: Arc::default(),
            timeout,
        }
    }

    /// Runs `job` on a worker thread and waits for its result.
    ///
    /// # Errors
    /// The error of the job; [`FsError::TimedOut`]; [`FsError::Panicked`].
    pub fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<R, FsError> + Send + 'static,
    ) -> Result<R, FsError> {
        let (answer, result) = mpsc::channel();
        let work: Job = Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(job)).unwrap_or(Err(FsError::Panicked));
            // The caller may have timed out.
            let _ = answer.send(outcome);
        });
        self.hand_out(work)?;
        result.recv_timeout(self.timeout).unwrap_or_else(|e| match e {
            RecvTimeoutError::Timeout => Err(FsError::TimedOut),
            RecvTimeoutError::Disconnected => Err(FsError::Panicked),
        })
    }

    fn hand_out(&self, mut work: Job) -> Result<(), FsError> {
        // The lock must not be held while a thread is started.
        while let Some(worker) = self.next_idle() {
            match worker.send(work) {
                Ok(()) => return Ok(()),
                Err(back) => work = back.0,
            }
        }
        let idle = Arc::downgrade(&self.idle);
        let body = move || {
            loop {
                work();
                // The pool was dropped. If this thread holds the last reference, the channel closes and `recv` fails.
                let Some(list) = idle.upgrade() else { return };
                let (sender, jobs) = mpsc::channel();
                list.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
                drop(list);
                match jobs.recv() {
                    Ok(job) => work = job,
                    Err(_) => return,
                }
            }
        };
        let started = std::thread::Builder::new().name("view".into()).spawn(body);
        started
            .map(|_| ())
            .map_err(|e| FsError::Engine(hyperslab::Error::io("a thread", e)))
    }

    fn next_idle(&self) -> Option<Sender<Job>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_errors_panics_and_timeouts_are_returned() {
        let workers = Workers::new(Duration::from_secs(60));
        assert_eq!(workers.run(|| Ok(1)).unwrap(), 1);
        assert!(matches!(
            workers.run(|| Err::<(), _>(FsError::Stale)),
            Err(FsError::Stale)
        ));
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let outcome = workers.run::<()>(|| panic!("a bug"));
        std::panic::set_hook(hook);
        assert!(matches!(outcome, Err(FsError::Panicked)));
        assert_eq!(workers.run(|| Ok(2)).unwrap(), 2);
        // This job never ends while it is waited for.
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let silence = Workers::new(Duration::from_millis(1)).run(move || {
            ended.recv().unwrap_err();
            Ok(())
        });
        assert!(matches!(silence, Err(FsError::TimedOut)));
        drop(end);
    }

    #[test]
    fn threads_end_with_the_pool() {
        thread_local!(static UNTIL_THE_END: std::cell::Cell<Option<Sender<()>>> = const { std::cell::Cell::new(None) });
        let (there, ended) = mpsc::channel();
        let workers = Workers::new(Duration::from_secs(60));
        let keep = move || {
            UNTIL_THE_END.set(Some(there));
            Ok(())
        };
        workers.run(keep).unwrap();
        drop(workers);
        assert_eq!(
            ended.recv_timeout(Duration::from_secs(60)),
            Err(RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn threads_are_reused() {
        let workers = Workers::new(Duration::from_secs(60));
        let id = || workers.run(|| Ok(std::thread::current().id())).unwrap();
        let first = id();
        // The worker needs time to become idle.
        while workers.idle.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(id(), first);
    }
}
