//! Finds the levels of groups, and opens them for the Zarr view.

use std::sync::Arc;

use super::opened::Object;
use super::{Found, LastLink, View, facts};
use crate::array::Group;
use crate::conventions;
use crate::error::{Error, Result};
use crate::view::folder::Folder;
use crate::view::levels::Pyramid;
use crate::view::node::{DirEntry, Node};
use crate::view::pyramid::Opened;
use crate::view::{documents, tree};

impl View {
    /// The paths in the store of the levels that `zarr` shows of the group at `path`, finest first. Empty if there are none.
    ///
    /// # Errors
    /// Errors of reading the group and its arrays.
    pub async fn levels(&self, path: &str) -> Result<Vec<String>> {
        match self.walk(path, LastLink::Followed).await? {
            Some(Found::Folder(folder)) => {
                let pyramid = self.pyramid(&folder).await?;
                Ok(pyramid.map_or_else(Vec::new, |pyramid| pyramid.levels.clone()))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The levels of a group; `None` if it has none. They are found once for each opened group, unless that fails.
    ///
    /// # Errors
    /// Errors of reading the group. Without its levels, readers of Zarr would take the missing chunks for empty ones.
    pub(super) async fn pyramid(&self, folder: &Folder) -> Result<Option<Arc<Pyramid>>> {
        let is_free = !folder.children.iter().any(|child| child.name == FOLDER);
        if !folder.is_group || folder.children.is_empty() || !is_free {
            return Ok(None);
        }
        let mut kept = folder.pyramid.lock().await;
        if let Some(known) = &*kept {
            return Ok(known.clone());
        }
        let found = self.find_pyramid(folder).await?.map(Arc::new);
        Ok(kept.insert(found).clone())
    }

    /// Whether a group is listed with a Zarr view. It is if its levels cannot be read: opening the view then says why.
    pub(super) async fn lists_pyramid(&self, folder: &Folder) -> bool {
        !matches!(self.pyramid(folder).await, Ok(None))
    }

    async fn find_pyramid(&self, folder: &Folder) -> Result<Option<Pyramid>> {
        let (context, options) = (&self.source.context, self.options(self.seen().window));
        let group = Group::open(context, &folder.path, &options).await?;
        // Other groups have no levels, and describing them takes many requests.
        if !group.metadata().await?.contains_key("dataset_type") {
            return Ok(None);
        }
        let dataset = conventions::of_complete(context, &folder.path, &options).await?;
        let is_child = |path: &str| folder.children.iter().any(|child| child.path == path);
        Ok(Pyramid::of(dataset, &folder.path, is_child))
    }

    /// What is at a path in the Zarr view of a group.
    pub(super) async fn walk_pyramid<'a>(&self, pyramid: Arc<Pyramid>, parts: &[&'a str]) -> Result<Option<Found<'a>>> {
        let (level, rest) = match parts {
            [] => return Ok(Some(Found::Pyramid(pyramid))),
            ["zarr.json"] => return Ok(Some(Found::PyramidText(pyramid))),
            [level, rest @ ..] => (*level, rest),
        };
        let number = level.parse::<usize>().ok().filter(|number| number.to_string() == level);
        let Some(path) = number.and_then(|number| pyramid.levels.get(number)) else {
            return Ok(None);
        };
        let window = self.seen().window;
        let object = self.object(path, window).await?;
        let Object::Array(snapshot) = &*object else {
            return Ok(None);
        };
        let parts: Vec<&str> = std::iter::once(FOLDER).chain(rest.iter().copied()).collect();
        let place = tree::place(&parts, snapshot.array.schema())?;
        Ok(place.map(|place| Found::InArray(snapshot.clone(), place, level, false)))
    }

    /// `zarr.json` of a group with levels.
    pub(super) async fn pyramid_text(&self, path: &str, pyramid: &Pyramid) -> Result<Node> {
        let mut levels: Vec<Opened> = Vec::new();
        let mut modified_ms = 0;
        let window = self.seen().window;
        for path in &pyramid.levels {
            let object = self.object(path, window).await?;
            let Object::Array(snapshot) = &*object else {
                return Err(Error::not_found(path, "a level of the group is not an array"));
            };
            modified_ms = modified_ms.max(snapshot.modified_ms);
            levels.push((snapshot.array.clone(), facts::of(snapshot).await?));
        }
        let document = pyramid.document(&levels)?;
        Ok(Node::text(path, modified_ms, documents::pretty(&document)))
    }
}

/// The name of the Zarr view in a group.
pub(super) const FOLDER: &str = "zarr";

/// Lists the Zarr view of a group.
pub(super) fn list(pyramid: &Pyramid) -> Vec<DirEntry> {
    let levels = (0..pyramid.levels.len()).map(|number| DirEntry::dir(number.to_string()));
    levels.chain([DirEntry::file("zarr.json")]).collect()
}
