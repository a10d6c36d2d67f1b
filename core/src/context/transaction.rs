//! Transactions: changes that can be aborted as a whole, at any time and on every store.
//!
//! ```text
//!   Context::begin ──► writes register the folders of their fragments as drafts
//!                      a commit takes its drafts off the list
//!   abort          ──► writes are refused ─► commits in progress end ─► drafts are removed
//! ```
//!
//! Each write of a transaction becomes visible when it commits, not when the transaction ends. A merge commits its new
//! fragment first and then the list of fragments that it replaces. In between, readers of an array with duplicates see
//! cells twice, so [`Transaction::abort`] waits for both.
//!
//! [`Context::begin_creation`] is for stores without renames. The files by which readers recognize the new array or
//! group are kept in memory until [`Transaction::publish`].

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Poll, Waker};

use bytes::Bytes;
use futures_util::future::select;

use super::Context;
use super::transaction_store::TransactionVfs;
use crate::error::{Error, Result};
use crate::vfs::{FileWriter, Lock, MemVfs, Vfs, VfsExt};

/// A handle of all changes made through a context. Clones share the transaction. See [`Context::begin`].
#[derive(Clone)]
pub struct Transaction(pub(super) Arc<Shared>);

pub(super) struct Shared {
    /// The store itself.
    pub(super) store: Arc<dyn Vfs>,
    pub(super) creation: Option<Creation>,
    pub(super) on_append: OnceLock<Box<dyn Fn(u64) + Send + Sync>>,
    state: Mutex<State>,
}

/// A new array, group or folder of them.
pub(super) struct Creation {
    pub(super) dir: String,
    /// The files that make it visible.
    pub(super) markers: MemVfs,
}

#[derive(Default)]
pub(super) struct State {
    aborted: bool,
    pub(super) published: bool,
    /// Whether a change was committed, or may have been.
    committed: bool,
    /// The folders to remove.
    drafts: BTreeSet<String>,
    /// Writes and commits in progress.
    underway: usize,
    /// Commits in progress. Until they end, an aborted transaction still accepts writes.
    commits: usize,
    /// Calls of [`Transaction::abort`] that wait for `underway`.
    waiting: Vec<Waker>,
    pub(super) writers: Revocables<Box<dyn FileWriter>>,
    pub(super) locks: Revocables<Box<dyn Lock>>,
}

impl Context {
    /// Starts a transaction. Changes made through the returned context can be aborted. They bypass the transaction if
    /// they are made through `self`.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
    /// # let options = WriteOptions { timestamp_ms: 10, seed: [2; 32], sync: false };
    /// let (context, transaction) = context.begin();
    /// let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// let mut writer = array.writer(None, &options).await?;
    /// writer.push(column(&[0, 1, 2, 3])).await?;
    /// drop(writer);
    ///
    /// // Removes the files of the writer. Waits at most until the future is ready for other writes in progress.
    /// let committed = transaction.abort(std::future::ready(())).await;
    /// assert!(!committed);
    /// # assert!(context.vfs.list("line/__fragments").await?.is_empty());
    /// # Ok(()) }) }
    /// ```
    #[must_use]
    pub fn begin(&self) -> (Self, Transaction) {
        self.begin_with(None)
    }

    /// Starts a transaction that creates an array or group at `dir`, or a folder of them. They become visible together
    /// in [`Transaction::publish`]. [`Transaction::abort`] removes `dir`, so the caller checks first that it is empty.
    #[must_use]
    pub fn begin_creation(&self, dir: &str) -> (Self, Transaction) {
        self.begin_with(Some(Creation {
            dir: dir.to_owned(),
            markers: MemVfs::new(),
        }))
    }

    fn begin_with(&self, creation: Option<Creation>) -> (Self, Transaction) {
        let state = State {
            drafts: creation.iter().map(|c| c.dir.clone()).collect(),
            ..State::default()
        };
        let transaction = Transaction(Arc::new(Shared {
            store: Arc::clone(&self.vfs),
            creation,
            on_append: OnceLock::new(),
            state: Mutex::new(state),
        }));
        let context = Self {
            vfs: Arc::new(TransactionVfs(transaction.clone())),
            transaction: Some(transaction.clone()),
            ..self.clone()
        };
        (context, transaction)
    }

    /// Registers the folder of a fragment, which is removed if the transaction is aborted before its commit.
    pub(crate) fn register(&self, folder: &str) {
        if let Some(transaction) = &self.transaction {
            transaction.state().drafts.insert(folder.to_owned());
        }
    }

    /// Removes the folder of a fragment that will not be committed, if the store permits it. Nothing refers to it.
    pub(crate) async fn discard(&self, folder: &str) {
        // The first failure is the one to report; readers ignore files that remain here.
        if self.vfs.remove_dir(folder).await.is_ok()
            && let Some(transaction) = &self.transaction
        {
            transaction.state().drafts.remove(folder);
        }
    }

    /// Starts a commit of these folders. Until the result is dropped, [`Transaction::abort`] waits, and writes pass.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the transaction was aborted.
    pub(crate) fn commit<'a>(&self, folders: impl IntoIterator<Item = &'a str>) -> Result<Option<Underway>> {
        let Some(transaction) = &self.transaction else {
            return Ok(None);
        };
        let commit = transaction.hold()?;
        let mut state = transaction.state();
        // Commits of a creation are invisible until it is published.
        state.committed |= transaction.0.creation.is_none() || state.published;
        for folder in folders {
            state.drafts.remove(folder);
        }
        Ok(Some(commit))
    }

    /// Puts a file that by itself changes what readers see.
    pub(crate) async fn put_visible(&self, path: &str, bytes: Vec<u8>) -> Result<()> {
        let _commit = self.commit([])?;
        self.vfs.put(path, vec![Bytes::from(bytes)]).await
    }

    /// Lets an abort wait until the result is dropped, for a change of several commits.
    pub(crate) fn hold(&self) -> Result<Option<Underway>> {
        self.transaction.as_ref().map(Transaction::hold).transpose()
    }
}

impl Transaction {
    /// Refuses all further writes with [`Error::Cancelled`], removes what is not committed, and releases the locks that
    /// are held. Before it removes something, it waits for writes and commits in progress, but not longer than until
    /// `deadline` is ready.
    ///
    /// Returns whether something was committed, or may be because the commit has failed or is still in progress.
    pub async fn abort(&self, deadline: impl Future<Output = ()>) -> bool {
        self.state().aborted = true;
        let idle = poll_fn(|context| {
            let mut state = self.state();
            if state.underway == 0 {
                return Poll::Ready(());
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        });
        let (idle, deadline) = (std::pin::pin!(idle), std::pin::pin!(deadline));
        select(idle, deadline).await;
        let (drafts, writers, locks) = {
            let mut state = self.state();
            let state = &mut *state;
            (
                std::mem::take(&mut state.drafts),
                state.writers.take(),
                state.locks.take(),
            )
        };
        // The caller cannot do anything about files that cannot be removed, and readers ignore them.
        for writer in writers {
            let _ = writer.abort().await;
        }
        for folder in drafts {
            let _ = self.0.store.remove_dir(&folder).await;
        }
        drop(locks);
        self.state().committed
    }

    /// Completes a [creation](Context::begin_creation): writes the files that make arrays and groups visible, those in
    /// the deepest folders first.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the transaction was aborted; [`Error::Io`]. Call [`Self::abort`] then.
    pub async fn publish(&self) -> Result<()> {
        let Some(creation) = &self.0.creation else {
            return Ok(());
        };
        let mut files = creation.markers.files();
        files.sort_by_key(|(path, _)| std::cmp::Reverse(path.split('/').count()));
        for (path, bytes) in files {
            let _underway = self.enter()?;
            self.0.store.put(&path, vec![bytes]).await?;
        }
        let mut state = self.state();
        if state.aborted {
            return Err(Error::Cancelled);
        }
        (state.published, state.committed) = (true, true);
        state.drafts.remove(&creation.dir);
        Ok(())
    }

    /// Calls `report` with the number of bytes after each part of a file that was written in parts, to show progress.
    /// Only the first call of this method has an effect.
    pub fn on_append(&self, report: impl Fn(u64) + Send + Sync + 'static) {
        let _ = self.0.on_append.set(Box::new(report));
    }

    /// Starts a write, unless the transaction was aborted.
    pub(super) fn enter(&self) -> Result<Underway> {
        self.start(0)
    }

    /// Starts a commit, unless the transaction was aborted.
    fn hold(&self) -> Result<Underway> {
        self.start(1)
    }

    fn start(&self, commits: usize) -> Result<Underway> {
        let mut state = self.state();
        if state.aborted && state.commits == 0 {
            return Err(Error::Cancelled);
        }
        state.underway += 1;
        state.commits += commits;
        Ok(Underway {
            transaction: self.clone(),
            commits,
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write or commit in progress. It ends when this is dropped.
pub(crate) struct Underway {
    transaction: Transaction,
    commits: usize,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let mut state = self.transaction.state();
        state.underway -= 1;
        state.commits -= self.commits;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// A value that an abort takes away from its owner, such as a lock.
pub(super) type Revocable<T> = Arc<Mutex<Option<T>>>;

pub(super) fn take<T>(revocable: &Revocable<T>) -> Option<T> {
    revocable.lock().unwrap_or_else(PoisonError::into_inner).take()
}

pub(super) struct Revocables<T>(Vec<Weak<Mutex<Option<T>>>>);

impl<T> Default for Revocables<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Revocables<T> {
    pub(super) fn add(&mut self, it: T) -> Revocable<T> {
        let revocable = Arc::new(Mutex::new(Some(it)));
        self.0.retain(|other| other.strong_count() > 0);
        self.0.push(Arc::downgrade(&revocable));
        revocable
    }

    fn take(&mut self) -> Vec<T> {
        let all = std::mem::take(&mut self.0);
        all.iter().filter_map(|it| take(&it.upgrade()?)).collect()
    }
}
