//! Opens the stores and arrays of the command line.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail};
use hyperslab::group::{ObjectType, object_type};
use hyperslab::vfs::{VfsExt, manifest};
use hyperslab::{Array, Context, Key, OpenOptions, Window, vfs};

use crate::batches::Budget;
use crate::errors::usage;
use crate::{show, signals};

/// A path or URL, and the store behind it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// As typed, with secrets; messages redact it.
    pub(crate) url: String,
    /// The same for the store's root.
    pub(crate) root: String,
    /// The store.
    pub(crate) context: Context,
    /// The path in the store.
    pub(crate) path: String,
}

impl Place {
    /// # Errors
    /// The scheme is not supported.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let (vfs, path) = vfs::open_url(url).with_context(|| format!("cannot open {url}"))?;
        Ok(Self {
            url: url.to_owned(),
            root: url.to_owned(),
            context: Context::new(vfs),
            path,
        })
    }

    /// The path, if it is on the local disk.
    pub(crate) fn local(&self) -> Option<&Path> {
        vfs::local_path(&self.url)
    }

    /// The full location: a `file:` URL with an absolute path, or the URL as typed.
    pub(crate) fn location(&self) -> String {
        let full = self.context.vfs.location(&self.path);
        full.unwrap_or_else(|| self.url.clone())
    }

    /// A place within this one.
    pub(crate) fn join(&self, name: &str) -> Self {
        Self {
            url: vfs::join_url(&self.url, name),
            root: self.root.clone(),
            context: self.context.clone(),
            path: vfs::join(&self.path, name),
        }
    }

    /// Another path in the same store.
    pub(crate) fn at(&self, path: &str) -> Self {
        Self {
            url: vfs::join_url(&self.root, path),
            root: self.root.clone(),
            context: self.context.clone(),
            path: path.to_owned(),
        }
    }
}

/// The state that all commands share.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    /// The key of encrypted arrays.
    pub(crate) key: Option<Key>,
    /// The snapshot token to open the array from.
    snapshot: Option<Arc<[u8]>>,
    changed: Arc<Mutex<Vec<Place>>>,
}

impl Env {
    /// The state of a command that has not started.
    pub(crate) fn new(key: Option<Key>) -> Self {
        Self {
            key,
            snapshot: None,
            changed: Arc::default(),
        }
    }

    /// The same, opening arrays from the snapshot token in a file.
    pub(crate) fn with_snapshot(&self, file: Option<&Path>) -> Result<Self> {
        let read = |file: &Path| {
            let token = std::fs::read(file).with_context(|| format!("cannot read the snapshot in {}", file.display()));
            token.map(Arc::from)
        };
        Ok(Self {
            snapshot: file.map(read).transpose()?,
            ..self.clone()
        })
    }

    /// The same without the key.
    pub(crate) fn without_key(&self) -> Self {
        Self {
            key: None,
            ..self.clone()
        }
    }

    /// Records that the command may change the array or group at a place.
    pub(crate) fn will_change(&self, place: &Place) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.push(place.clone());
    }

    /// Updates the manifests of the places that were changed, because readers over HTTP rely on them.
    pub(crate) async fn renew_manifests(&self) -> Result<()> {
        let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
        for place in changed {
            // The signal's abort removes files that a manifest would list now.
            signals::stop_here();
            let renewed = manifest::refresh(&*place.context.vfs, &place.path).await;
            renewed.with_context(|| {
                let url = &place.url;
                format!(
                    "{url} was changed, but its {} was not updated; run `hyperslab index {url}`",
                    manifest::MANIFEST
                )
            })?;
        }
        Ok(())
    }

    /// Opens an array in a window of time.
    pub(crate) async fn open(&self, url: &str, window: Window) -> Result<Array> {
        self.open_at(&Place::new(url)?, window).await
    }

    /// Opens an array with all of its fragments to write to it, within a budget. A signal removes an uncommitted write.
    pub(crate) async fn open_to_write(&self, url: &str, budget: Option<Budget>) -> Result<Array> {
        self.open_to_change(url, Window::ALL, budget).await
    }

    /// The same for a window of time.
    pub(crate) async fn open_to_change(&self, url: &str, window: Window, budget: Option<Budget>) -> Result<Array> {
        let place = Place::new(url)?;
        self.will_change(&place);
        let (context, transaction) = place.context.begin();
        signals::begin(&transaction);
        let place = Place { context, ..place };
        let place = budget.map_or(place.clone(), |budget| budget.within(&place));
        self.open_at(&place, window).await
    }

    /// Opens the array at a place.
    pub(crate) async fn open_at(&self, place: &Place, window: Window) -> Result<Array> {
        if let Some(token) = &self.snapshot {
            let what = || format!("cannot open {}", place.url);
            let opened = Array::from_snapshot(&place.context, &place.path, token, self.key.clone()).await;
            let array = opened.with_context(what)?;
            array.confirm_snapshot(&place.context).await.with_context(what)?;
            return Ok(array);
        }
        let opened = Array::open(&place.context, &place.path, &self.options(window)).await;
        self.explained(opened, place).await
    }

    /// Opens all readable fragments of an array, including replaced ones, to verify its files. Also returns the errors
    /// of the unreadable ones.
    pub(crate) async fn open_to_verify(&self, url: &str, window: Window) -> Result<(Array, Vec<hyperslab::Error>)> {
        let place = Place::new(url)?;
        let opened = Array::open_to_verify(&place.context, &place.path, &self.options(window)).await;
        self.explained(opened, &place).await
    }

    /// Adds to an error what is at a place instead of an array.
    async fn explained<T>(&self, opened: hyperslab::Result<T>, place: &Place) -> Result<T> {
        if matches!(opened, Err(hyperslab::Error::NotFound { .. }))
            && matches!(
                object_type(&place.context, &place.path).await,
                Ok(Some(ObjectType::Group))
            )
        {
            bail!(
                "cannot open {}: it is a group; name one of its arrays, which `hyperslab ls` lists",
                place.url
            );
        }
        if matches!(opened, Err(hyperslab::Error::NotFound { .. })) && place.local().is_some_and(Path::is_file) {
            bail!(
                "cannot open {0}: it is a file; import it with `hyperslab import {0} ARRAY`",
                place.url
            );
        }
        opened.with_context(|| format!("cannot open {}", place.url))
    }

    /// Options to open arrays and groups in a window of time.
    pub(crate) fn options(&self, window: Window) -> OpenOptions {
        OpenOptions {
            window,
            key: self.key.clone(),
        }
    }
}

/// Reads the key in a file: 32 bytes, or 64 hex digits.
pub(crate) fn key(file: Option<&Path>) -> Result<Option<Key>> {
    let Some(file) = file else { return Ok(None) };
    let bytes = std::fs::read(file).with_context(|| format!("cannot read the key in {}", file.display()))?;
    let none = || {
        format!(
            "{} is not a key file; a key is 32 bytes or 64 hex digits",
            file.display()
        )
    };
    let key = Key::parse(&bytes).ok_or_else(|| usage("--key-file", none()))?;
    if hyperslab::internals::vfs::readable_by_everyone(file) {
        let file = file.display();
        show::warning(format_args!(
            "every user of this machine can read the key in {file}; run `chmod 600 {file}`"
        ));
    }
    Ok(Some(key))
}

/// 32 random bytes, from which names and nonces are derived.
pub(crate) fn seed() -> Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|e| anyhow::anyhow!("the system provides no random numbers: {e}"))?;
    Ok(seed)
}
