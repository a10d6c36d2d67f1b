//! Making something whole: it appears under its name when it is finished, or not at all.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::signals::{Pending, beside};
use crate::store::Place;

/// An array or folder in the making.
pub(crate) struct Building {
    place: Place,
    to: Place,
    local: Option<(Pending, PathBuf)>,
}

impl Building {
    /// Starts something new at `to`. On the local disk it is made beside its name; elsewhere in place.
    pub(crate) async fn start(to: &Place) -> Result<Self> {
        if !to.context.vfs.list(&to.path).await?.is_empty() {
            bail!("{}: already exists; choose another name or remove it first", to.url);
        }
        let Some(path) = to.local() else {
            return Ok(Self {
                place: to.clone(),
                to: to.clone(),
                local: None,
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
        let half = Pending::new(beside(&path));
        let place = Place::new(&half.path().to_string_lossy())?;
        Ok(Self {
            place,
            to: to.clone(),
            local: Some((half, path)),
        })
    }

    /// Where it is being made.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// It is whole, or it failed: in that case nothing is left of it.
    pub(crate) async fn end<T>(self, outcome: Result<T>) -> Result<T> {
        match (outcome, self.local) {
            (Ok(value), Some((half, name))) => {
                half.keep_as(&name)
                    .with_context(|| format!("cannot make {}", self.to.url))?;
                Ok(value)
            }
            (Err(error), None) => {
                // The first error says more than one about the clearing up would.
                let _ = self.to.context.vfs.remove_dir(&self.to.path).await;
                Err(error)
            }
            (outcome, _) => outcome,
        }
    }
}
