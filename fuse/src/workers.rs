//! Worker threads with a deadline, so that every request is answered in time.
//!
//! A program that waits for a file system cannot be killed. Therefore the threads that serve the kernel only hand out
//! requests, and any number of requests is under way. A worker sends the answer, or at the deadline another thread sends
//! an error. The worker goes on: the next request of the same kind may find its result in a cache.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::errno::FsError;

type Job = Box<dyn FnOnce() + Send>;

/// A pool of idle threads. It grows to the largest number of concurrent jobs.
#[derive(Clone)]
pub struct Workers {
    idle: Arc<Mutex<Vec<Sender<Job>>>>,
    timeout: Duration,
    deadlines: Arc<Deadlines>,
}

impl Workers {
    /// An empty pool. Each job is answered within `timeout`.
    pub fn new(timeout: Duration) -> Self {
        Self {
            idle: Arc::default(),
            timeout,
            deadlines: Arc::default(),
        }
    }

    /// Runs `job` on a worker thread, and passes its result to `answer`, which is called once. Errors are those of the
    /// job, [`FsError::TimedOut`] and [`FsError::Panicked`].
    pub fn run<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<R, FsError> + Send + 'static,
        answer: impl FnOnce(Result<R, FsError>) + Send + 'static,
    ) {
        let answer = Answer::new(answer);
        let expired = answer.clone();
        let deadline = Instant::now() + self.timeout;
        let deadline = Deadlines::add(
            &self.deadlines,
            deadline,
            Box::new(move || expired.send(Err(FsError::TimedOut))),
        );
        self.start(job, answer, Some(deadline));
    }

    /// Runs `job` as [`Workers::run`] does, but without a deadline: an error after a timeout would be false if the job
    /// succeeds later.
    pub fn run_to_end<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<R, FsError> + Send + 'static,
        answer: impl FnOnce(Result<R, FsError>) + Send + 'static,
    ) {
        self.start(job, Answer::new(answer), None);
    }

    fn start<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<R, FsError> + Send + 'static,
        answer: Answer<R>,
        deadline: Option<Deadline>,
    ) {
        let unable = answer.clone();
        let started = self.hand_out(Box::new(move || {
            let outcome = catch_unwind(AssertUnwindSafe(job)).unwrap_or(Err(FsError::Panicked));
            drop(deadline);
            answer.send(outcome);
        }));
        if let Err(error) = started {
            unable.send(Err(error));
        }
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
                lock(&list).push(sender);
                drop(list);
                match jobs.recv() {
                    Ok(job) => work = job,
                    Err(_) => return,
                }
            }
        };
        start_thread("view", body)
    }

    fn next_idle(&self) -> Option<Sender<Job>> {
        lock(&self.idle).pop()
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Takes the first result; later ones are ignored.
struct Answer<R>(Arc<Mutex<Option<Callback<R>>>>);

type Callback<R> = Box<dyn FnOnce(Result<R, FsError>) + Send>;

impl<R> Answer<R> {
    fn new(answer: impl FnOnce(Result<R, FsError>) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(answer)))))
    }

    fn send(&self, result: Result<R, FsError>) {
        // The lock must not be held while the answer is sent.
        let answer = lock(&self.0).take();
        if let Some(answer) = answer {
            answer(result);
        }
    }
}

impl<R> Clone for Answer<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// The jobs under way, by deadline, and a thread that waits for the first deadline.
#[derive(Default)]
struct Deadlines {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<(Instant, u64), Job>,
    next: u64,
    /// Whether a thread waits. It ends when no job is under way for a while.
    has_thread: bool,
}

/// Removes a deadline when dropped.
struct Deadline {
    all: Arc<Deadlines>,
    key: (Instant, u64),
}

impl Drop for Deadline {
    fn drop(&mut self) {
        lock(&self.all.state).waiting.remove(&self.key);
    }
}

/// How long the thread waits for a job before it ends.
const IDLE: Duration = Duration::from_secs(1);

impl Deadlines {
    fn add(all: &Arc<Self>, at: Instant, expire: Job) -> Deadline {
        let mut state = lock(&all.state);
        let key = (at, state.next);
        state.next += 1;
        state.waiting.insert(key, expire);
        if state.waiting.len() == 1 {
            all.changed.notify_one();
        }
        if !state.has_thread {
            let waiter = Arc::clone(all);
            // Without a thread, the job runs without a deadline, and the next job tries again.
            state.has_thread = start_thread("deadlines", move || waiter.wait()).is_ok();
        }
        drop(state);
        Deadline {
            all: Arc::clone(all),
            key,
        }
    }

    /// Ends jobs at their deadlines until there are no jobs. The timeout is the same for all jobs, so a new job ends last.
    fn wait(&self) {
        let mut state = lock(&self.state);
        loop {
            let now = Instant::now();
            while let Some(first) = state.waiting.first_entry().filter(|e| e.key().0 <= now) {
                let expire = first.remove();
                drop(state);
                expire();
                state = lock(&self.state);
            }
            let pause = state
                .waiting
                .first_key_value()
                .map_or(IDLE, |((at, _), _)| at.duration_since(now));
            let is_idle = state.waiting.is_empty();
            let (next, waited) = self
                .changed
                .wait_timeout(state, pause)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
            if is_idle && waited.timed_out() && state.waiting.is_empty() {
                state.has_thread = false;
                return;
            }
        }
    }
}

fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), FsError> {
    let started = std::thread::Builder::new().name(name.into()).spawn(body);
    started
        .map(|_| ())
        .map_err(|e| FsError::Engine(hyperslab::Error::io("a thread", e)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Code under the lock does not panic, so the data is consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a job and waits for its answer.
    fn answer<R: Send + 'static>(
        workers: &Workers,
        job: impl FnOnce() -> Result<R, FsError> + Send + 'static,
    ) -> Result<R, FsError> {
        let (sender, result) = mpsc::channel();
        workers.run(job, move |r| sender.send(r).unwrap());
        result.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn results_errors_panics_and_timeouts_are_returned() {
        let workers = Workers::new(Duration::from_secs(60));
        assert_eq!(answer(&workers, || Ok(1)).unwrap(), 1);
        assert!(matches!(
            answer(&workers, || Err::<(), _>(FsError::Stale)),
            Err(FsError::Stale)
        ));
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let outcome = answer::<()>(&workers, || panic!("a bug"));
        std::panic::set_hook(hook);
        assert!(matches!(outcome, Err(FsError::Panicked)));
        assert_eq!(answer(&workers, || Ok(2)).unwrap(), 2);
        assert!(lock(&workers.deadlines.state).waiting.is_empty());
    }

    /// Each job waits for the next one, so all must be under way together.
    #[test]
    fn any_number_of_jobs_is_under_way() {
        let workers = Workers::new(Duration::from_secs(60));
        let all = Arc::new(std::sync::Barrier::new(100));
        let (sender, results) = mpsc::channel();
        for _ in 0..100 {
            let (all, sender) = (Arc::clone(&all), sender.clone());
            let job = move || {
                all.wait();
                Ok(())
            };
            workers.run(job, move |r| sender.send(r.is_ok()).unwrap());
        }
        drop(sender);
        assert_eq!(results.iter().filter(|ok| *ok).count(), 100);
    }

    #[test]
    fn a_job_is_answered_at_its_deadline_and_goes_on() {
        let workers = Workers::new(Duration::from_millis(1));
        let (end, ended) = mpsc::channel::<()>();
        let (done, is_done) = mpsc::channel();
        let silence = answer(&workers, move || {
            ended.recv().unwrap_err();
            done.send(()).unwrap();
            Ok(())
        });
        assert!(matches!(silence, Err(FsError::TimedOut)));
        drop(end);
        is_done.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn a_job_without_a_deadline_is_answered_at_its_end() {
        let workers = Workers::new(Duration::from_millis(1));
        let (sender, result) = mpsc::channel();
        let job = || {
            std::thread::sleep(Duration::from_millis(20));
            Ok(7)
        };
        workers.run_to_end(job, move |r| sender.send(r).unwrap());
        assert_eq!(result.recv_timeout(Duration::from_secs(60)).unwrap().unwrap(), 7);
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
        answer(&workers, keep).unwrap();
        drop(workers);
        assert_eq!(
            ended.recv_timeout(Duration::from_secs(60)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn threads_are_reused() {
        let workers = Workers::new(Duration::from_secs(60));
        let id = || answer(&workers, || Ok(std::thread::current().id())).unwrap();
        let first = id();
        // The worker needs time to become idle.
        while workers.idle.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(id(), first);
    }
}
