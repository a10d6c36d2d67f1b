//! All-or-nothing creation: an array or folder appears under its name when it is complete, or not at all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use hyperslab::Transaction;
use hyperslab::internals::array;

use crate::leftovers;
use crate::signals::{self, Pending, temporary_path};
use crate::store::Place;

/// An array or folder under construction.
pub(crate) struct Building {
    place: Place,
    to: Place,
    way: Way,
}

/// How it stays invisible until it is complete.
enum Way {
    /// It is built under a temporary name in the same folder, then renamed.
    Beside(Pending, PathBuf),
    /// The same, and the folder that has the name is removed.
    Instead(Pending, PathBuf),
    /// It is built in place. The files that make it visible are written last.
    Staged(Transaction),
}

impl Building {
    /// Starts building at `to`: on the local disk under a temporary name, elsewhere in place.
    pub(crate) async fn start(to: &Place) -> Result<Self> {
        Self::begin(to, false).await
    }

    /// The same, but replaces the folder at `to` at the end, if there is one. Only for the local disk.
    pub(crate) async fn start_again(to: &Place) -> Result<Self> {
        Self::begin(to, true).await
    }

    async fn begin(to: &Place, again: bool) -> Result<Self> {
        let what = || format!("cannot create {}", to.url);
        if to.local().is_none() {
            // A read-only store fails here. In other stores, an empty folder has no effect.
            to.context.vfs.create_dir(&to.path).await.with_context(what)?;
        }
        refuse_inside_array(to).await?;
        if !again && !to.context.vfs.list(&to.path).await.with_context(what)?.is_empty() {
            bail!(
                "cannot create {}: already exists; choose another name or remove it first",
                to.url
            );
        }
        let Some(path) = to.local() else {
            let (context, transaction) = to.context.begin_creation(&to.path);
            signals::begin(&transaction);
            return Ok(Self {
                place: Place { context, ..to.clone() },
                to: to.clone(),
                way: Way::Staged(transaction),
            });
        };
        if path.is_file() {
            bail!(
                "cannot create {}: already exists and is a file; choose another name or remove it first",
                to.url
            );
        }
        if path.is_symlink() && !path.exists() {
            bail!(
                "cannot create {}: is a link to something that does not exist; choose another name or remove the link first",
                to.url
            );
        }
        let path = std::path::absolute(path)?;
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        if let Some(folder) = path.parent() {
            leftovers::remove(folder);
        }
        let mut half = Pending::new(temporary_path(&path)?);
        std::fs::create_dir(half.path()).with_context(what)?;
        half.hold();
        let place = Place::new(&half.path().to_string_lossy())?;
        Ok(Self {
            place,
            to: to.clone(),
            way: if again {
                Way::Instead(half, path)
            } else {
                Way::Beside(half, path)
            },
        })
    }

    /// The place to write to while building.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Publishes the result if `outcome` is `Ok`; otherwise removes everything that was written.
    pub(crate) async fn end<T>(self, outcome: Result<T>) -> Result<T> {
        match self.way {
            Way::Beside(half, name) => {
                let value = outcome?;
                half.keep_as(&name).map_err(|e| taken(&self.to.url, e))?;
                Ok(value)
            }
            Way::Instead(half, name) => {
                let value = outcome?;
                let what = || format!("cannot replace {}", self.to.url);
                half.replace(&name).with_context(what)?;
                Ok(value)
            }
            Way::Staged(transaction) => {
                let ended = match outcome {
                    Ok(value) => {
                        let published = transaction.publish().await.map(|()| value);
                        published.with_context(|| format!("cannot create {}", self.to.url))
                    }
                    Err(error) => Err(error),
                };
                if ended.is_err() {
                    transaction.abort(std::future::ready(())).await;
                }
                ended
            }
        }
    }
}

/// Returns an error if `to` is inside an array's folder, where readers of that array would not see it.
pub(crate) async fn refuse_inside_array(to: &Place) -> Result<()> {
    let (root, path) = match to.local() {
        Some(path) => from_root(path)?,
        None => from_bucket(&to.url),
    };
    let root = Place::new(&root)?;
    Ok(array::refuse_inside_array(&root.context, &path).await?)
}

/// Splits a path into the root of the file system and the path from there. Resolves links in the existing part.
pub(crate) fn from_root(path: &Path) -> Result<(String, String)> {
    let path = std::path::absolute(path)?;
    let real = path.ancestors().skip(1).find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    let path = real.unwrap_or(path);
    let root = path.ancestors().last().unwrap_or(&path);
    let parts = path.strip_prefix(root).unwrap_or(&path).components();
    let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
    Ok((root.to_string_lossy().into_owned(), parts.join("/")))
}

/// Splits a URL into its bucket, which is its first part, and the path from there.
fn from_bucket(url: &str) -> (String, String) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    (format!("{scheme}://{bucket}"), path.trim_matches('/').to_owned())
}

/// Explains a failed rename to the final name. The name was free at the start, so if it exists now, another process
/// created it.
fn taken(url: &str, error: std::io::Error) -> anyhow::Error {
    let meanwhile = matches!(
        error.kind(),
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory
    );
    if meanwhile {
        return anyhow!(
            "cannot create {url}: another process created it in the meantime; choose another name, or remove it and \
             run this again"
        );
    }
    anyhow::Error::new(error).context(format!("cannot create {url}"))
}
