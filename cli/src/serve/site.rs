//! The viewer and what it shows, as files of a server.

use std::fmt::Display;

use anyhow::{Context as _, Result};
use hyperslab::Window;
use hyperslab::blocking::block_on;
use hyperslab::conventions;
use hyperslab::group::object_type;
use hyperslab::internals::vfs::percent_encode;

use super::folder::Folder;
use super::mounts::{Files, Made, Mounts};
use super::stored::Stored;
use super::tree::Tree;
use crate::store::{Env, Place};
use crate::viewer::{self, CATALOG, Viewer};

/// The folder of the data, next to the page.
pub(super) const DATA: &str = "data";

/// The page and the data that it shows.
pub(super) struct Site {
    pub(super) tree: Box<dyn Tree>,
    /// The array or group to open first, as a URL relative to the page. `None` for folders.
    pub(super) first: Option<String>,
}

/// The site of an array, a group or a folder of them. Only it can be read, and the arrays next to it that its description
/// names.
///
/// # Errors
/// There is nothing at the place, or it cannot be read.
pub(super) fn site(env: &Env, place: &Place, viewer: Viewer) -> Result<Site> {
    let kind = block_on(object_type(&place.context, &place.path))?;
    let (env, place) = (env.clone(), place.clone());
    if kind.is_none() {
        let at = place.clone();
        let list = move || viewer::json(&block_on(viewer::list(&env, &at, DATA))?);
        return Ok(Site {
            tree: with_viewer(viewer, list, Some(files(&place)?)),
            first: None,
        });
    }
    let dataset = block_on(conventions::of(&place.context, &place.path, &env.options(Window::ALL)))?;
    let name = viewer::name_of(&place);
    let mut data = vec![(name.clone(), files(&place)?)];
    for (path, neighbour) in block_on(viewer::neighbours(&place, &dataset)) {
        data.push((path, files(&neighbour)?));
    }
    let first = format!("{DATA}/{}", percent_encode(&name));
    let base = first.clone();
    let list = move || viewer::json(&block_on(viewer::list(&env, &place, &base))?);
    Ok(Site {
        tree: with_viewer(viewer, list, Some(Box::new(Mounts::new(data)))),
        first: Some(first),
    })
}

/// The viewer alone, for arrays of a folder that is served around it: `base` leads from the page to that folder.
pub(super) fn page(env: &Env, place: Place, viewer: Viewer, base: &'static str) -> Box<dyn Tree> {
    let env = env.clone();
    let list = move || viewer::json(&block_on(viewer::list(&env, &place, base))?);
    with_viewer(viewer, list, None)
}

fn with_viewer(
    viewer: Viewer,
    list: impl Fn() -> Result<Vec<u8>> + Send + Sync + 'static,
    data: Option<Box<dyn Tree>>,
) -> Box<dyn Tree> {
    let rest: Box<dyn Tree> = match viewer {
        Viewer::Folder(path) => Box::new(Folder::new(path)),
        Viewer::Built(files) => Box::new(Files(files)),
    };
    let catalog: Box<dyn Tree> = Box::new(Made(list));
    let data = data.map(|data| (DATA.to_owned(), data));
    let named = [(CATALOG.to_owned(), catalog)].into_iter().chain(data);
    Box::new(Mounts::new(named).over(rest))
}

/// The files at a place.
fn files(place: &Place) -> Result<Box<dyn Tree>> {
    let Some(path) = place.local() else {
        return Ok(Box::new(Stored::new(place)));
    };
    let shown: &dyn Display = &path.display();
    let path = path.canonicalize().with_context(|| format!("cannot read {shown}"))?;
    Ok(Box::new(Folder::new(path)))
}
