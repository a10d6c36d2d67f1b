//! Runs computations on the current thread or on all cores.

use std::ops::Range;

#[cfg(feature = "rayon")]
use futures_util::future::Either;

use crate::error::Result;

/// How decoding, packing and sorting are spread over cores. The variants give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// On the calling thread, in order.
    Inline,
    /// On rayon's global pool.
    #[cfg(feature = "rayon")]
    Rayon,
}

impl Default for Cpu {
    /// [`Cpu::Rayon`] if this build has threads and the system allows one per core, else [`Cpu::Inline`]. This starts
    /// rayon's global pool. A program that needs a different pool must build it first.
    fn default() -> Self {
        #[cfg(feature = "rayon")]
        if has_pool() {
            return Self::Rayon;
        }
        Self::Inline
    }
}

impl Cpu {
    /// Number of jobs that run in parallel.
    pub(crate) fn threads(self) -> usize {
        match self {
            Self::Inline => 1,
            #[cfg(feature = "rayon")]
            Self::Rayon => rayon::current_num_threads(),
        }
    }

    /// Applies `f` to each item and returns the results in order.
    ///
    /// # Errors
    /// One of the errors of `f`. The others are dropped.
    pub(crate) fn try_map<T, R, E>(self, items: &[T], f: impl Fn(&T) -> Result<R, E> + Sync + Send) -> Result<Vec<R>, E>
    where
        T: Sync,
        R: Send,
        E: Send,
    {
        match self {
            #[cfg(feature = "rayon")]
            Self::Rayon if items.len() > 1 => {
                use rayon::prelude::*;
                items.par_iter().map(f).collect()
            }
            _ => items.iter().map(f).collect(),
        }
    }

    /// Like `try_map`, but consumes the items. This is for jobs that own a part of the output, such as a `&mut [u8]`
    /// split off beforehand.
    ///
    /// # Errors
    /// One of the errors of `f`. The others are dropped.
    pub(crate) fn try_map_owned<T, R, E>(
        self,
        items: Vec<T>,
        f: impl Fn(T) -> Result<R, E> + Sync + Send,
    ) -> Result<Vec<R>, E>
    where
        T: Send,
        R: Send,
        E: Send,
    {
        match self {
            #[cfg(feature = "rayon")]
            Self::Rayon if items.len() > 1 => {
                use rayon::prelude::*;
                items.into_par_iter().map(f).collect()
            }
            _ => items.into_iter().map(f).collect(),
        }
    }

    /// Sorts by `key`. The sort is stable.
    pub(crate) fn sort_by_key<T: Send, K: Ord>(self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        match self {
            #[cfg(feature = "rayon")]
            Self::Rayon => rayon::slice::ParallelSliceMut::par_sort_by_key(items, key),
            _ => items.sort_by_key(key),
        }
    }

    /// Runs `job` outside the polling thread, so that the polling thread is never busy for long. On the pool, the job
    /// starts immediately, before the future is polled. [`Cpu::Inline`] runs the job when the future is polled.
    ///
    /// If the job panics, awaiting its result panics.
    ///
    /// # Errors
    /// The job's own error.
    pub(crate) fn run<R: Send + 'static>(
        self,
        job: impl FnOnce() -> Result<R> + Send + 'static,
    ) -> impl Future<Output = Result<R>> + Send {
        match self {
            // A worker of the pool must not wait for the pool, so it runs the job itself.
            #[cfg(feature = "rayon")]
            Self::Rayon if rayon::current_thread_index().is_none() => Either::Left(on_pool(job)),
            _ => {
                let here = async move { job() };
                #[cfg(feature = "rayon")]
                let here = Either::Right(here);
                here
            }
        }
    }
}

/// Cells per job if there is little work per cell. The values of such a part fit into the processor's cache.
pub(crate) const PART: usize = 1 << 13;

/// Splits `cells` cells into parts of `part` cells. The last part may be smaller. Zero cells give one empty part.
pub(crate) fn parts(cells: usize, part: usize) -> Vec<Range<usize>> {
    (0..cells.div_ceil(part).max(1))
        .map(|i| i * part..((i + 1) * part).min(cells))
        .collect()
}

/// Whether rayon's global pool is available. It is built here, because using a pool that cannot start panics.
#[cfg(feature = "rayon")]
fn has_pool() -> bool {
    static IS_THERE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IS_THERE.get_or_init(|| match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // An error without a source means that the program has already built the pool.
        Err(e) => std::error::Error::source(&e).is_none(),
    })
}

#[cfg(feature = "rayon")]
fn on_pool<R: Send + 'static>(
    job: impl FnOnce() -> Result<R> + Send + 'static,
) -> impl Future<Output = Result<R>> + Send {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    let (tx, rx) = futures_channel::oneshot::channel();
    rayon::spawn(move || {
        // The result is not needed if the caller dropped its future.
        if !tx.is_canceled() {
            let _ = tx.send(catch_unwind(AssertUnwindSafe(job)));
        }
    });
    async move {
        match rx.await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(crate::error::Error::Cancelled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn try_map_keeps_the_order() {
        let items: Vec<u64> = (0..1000).collect();
        let doubled = Cpu::default().try_map(&items, |i| Ok::<_, Error>(i * 2)).unwrap();
        assert_eq!(doubled, (0..1000).map(|i| i * 2).collect::<Vec<_>>());
    }

    #[test]
    fn errors_are_returned() {
        let r = Cpu::default().try_map(&[1, 2, 3], |i| if *i == 2 { Err(*i) } else { Ok(()) });
        assert_eq!(r, Err(2));
    }

    #[test]
    fn jobs_write_to_their_own_part() {
        let mut out = [0_u8; 6];
        let jobs: Vec<_> = out.chunks_mut(2).enumerate().collect();
        Cpu::default()
            .try_map_owned(jobs, |(i, part)| {
                part.fill(i as u8);
                Ok::<_, ()>(())
            })
            .unwrap();
        assert_eq!(out, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn run_returns_the_result() {
        assert_eq!(pollster::block_on(Cpu::default().run(|| Ok(7))).unwrap(), 7);
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_job_on_the_pool_starts_before_it_is_waited_for() {
        let (tx, rx) = std::sync::mpsc::channel();
        let job = Cpu::Rayon.run(move || {
            tx.send(()).unwrap();
            Ok(7)
        });
        rx.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert_eq!(pollster::block_on(job).unwrap(), 7);
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn a_worker_of_the_pool_does_not_wait_for_the_pool() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(
            pool.install(|| pollster::block_on(Cpu::Rayon.run(|| Ok(7)))).unwrap(),
            7
        );
    }
}
