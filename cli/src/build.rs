//! Making something whole: it appears under its name when it is finished, or not at all.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use hyperslab::{Context, array};

use crate::leftovers;
use crate::signals::{self, Pending, beside};
use crate::staging::Staging;
use crate::store::Place;

/// An array or folder in the making.
pub(crate) struct Building {
    place: Place,
    to: Place,
    way: Way,
}

/// How it stays unseen until it is whole.
enum Way {
    /// It is made beside the name that it gets.
    Beside(Pending, PathBuf),
    /// It is made in its place, and what shows it is put last.
    Staged(Staging),
}

impl Building {
    /// Starts something new at `to`. On the local disk it is made beside its name; elsewhere in place.
    pub(crate) async fn start(to: &Place) -> Result<Self> {
        let what = || format!("cannot make {}", to.url);
        if to.local().is_none() {
            // A store that takes no files says so here; in one that does, a folder is nothing by itself.
            to.context.vfs.create_dir(&to.path).await.with_context(what)?;
        }
        outside_of_arrays(to).await?;
        if !to.context.vfs.list(&to.path).await.with_context(what)?.is_empty() {
            bail!("{}: already exists; choose another name or remove it first", to.url);
        }
        let Some(path) = to.local() else {
            let staging = Staging::new(Arc::clone(&to.context.vfs), &to.path);
            signals::begin_remote(&staging);
            let place = Place {
                context: Context::new(Arc::new(staging.clone())),
                ..to.clone()
            };
            return Ok(Self {
                place,
                to: to.clone(),
                way: Way::Staged(staging),
            });
        };
        if path.is_file() {
            bail!(
                "{}: already exists, and is a file; choose another name or remove it first",
                to.url
            );
        }
        let path = std::path::absolute(path)?;
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        if let Some(folder) = path.parent() {
            leftovers::remove(folder);
        }
        let mut half = Pending::new(beside(&path)?);
        std::fs::create_dir(half.path()).with_context(what)?;
        half.hold();
        let place = Place::new(&half.path().to_string_lossy())?;
        Ok(Self {
            place,
            to: to.clone(),
            way: Way::Beside(half, path),
        })
    }

    /// Where it is being made.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// It is whole, or it failed: in that case nothing is left of it.
    pub(crate) async fn end<T>(self, outcome: Result<T>) -> Result<T> {
        match self.way {
            Way::Beside(half, name) => {
                let value = outcome?;
                half.keep_as(&name).map_err(|e| taken(&self.to.url, e))?;
                Ok(value)
            }
            Way::Staged(staging) => {
                let ended = match outcome {
                    Ok(value) => {
                        let published = staging.publish().await.map(|()| value);
                        published.with_context(|| format!("cannot make {}", self.to.url))
                    }
                    Err(error) => Err(error),
                };
                if ended.is_err() {
                    // The first error says more than one about the clearing up would.
                    let _ = self.to.context.vfs.remove_dir(&self.to.path).await;
                }
                signals::end_remote();
                ended
            }
        }
    }
}

/// Refuses a place in the folder of an array, where readers of the array would not see it.
pub(crate) async fn outside_of_arrays(to: &Place) -> Result<()> {
    let (root, path) = match to.local() {
        Some(path) => from_root(path)?,
        None => from_bucket(&to.url),
    };
    let root = Place::new(&root)?;
    Ok(array::outside_of_arrays(&root.context, &path).await?)
}

/// The root of the file system, and the path from there. Links are followed as far as there is something.
fn from_root(path: &Path) -> Result<(String, String)> {
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

/// The bucket of a URL, which is its first part, and the path from there.
fn from_bucket(url: &str) -> (String, String) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    (format!("{scheme}://{bucket}"), path.trim_matches('/').to_owned())
}

/// The failure to give what was made its name. There was nothing of that name when it was begun, so whoever has
/// it now took it meanwhile.
fn taken(url: &str, error: std::io::Error) -> anyhow::Error {
    let meanwhile = matches!(
        error.kind(),
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory
    );
    if meanwhile {
        return anyhow!(
            "cannot make {url}: another process made it meanwhile, and what it made is kept; choose another name, \
             or remove it and run this again"
        );
    }
    anyhow::Error::new(error).context(format!("cannot make {url}"))
}
