//! The arrays of a group that are levels of one raster or image. Does no I/O.

use crate::conventions::{Application, Dataset};
use crate::vfs::{join, last_part};

/// The most levels.
const LEVELS_MAX: usize = 64;

/// A group whose arrays are levels of each other.
#[derive(Debug)]
pub(super) struct Pyramid {
    pub(super) dataset: Dataset,
    pub(super) name: String,
    /// The paths in the store of the levels, finest first.
    pub(super) levels: Vec<String>,
}

impl Pyramid {
    /// The levels of the group at `folder`, which is described by `dataset`; `None` if it has none. All levels must be
    /// children of the group.
    pub(super) fn of(dataset: Dataset, folder: &str, is_child: impl Fn(&str) -> bool) -> Option<Self> {
        let mut paths: Vec<&str> = dataset.levels.iter().map(|level| level.path.as_str()).collect();
        match dataset.application {
            Application::GdalRaster if paths.len() > 1 => {}
            Application::Bioimg if paths.is_empty() => paths.extend(dataset.variables.first().map(|v| v.path.as_str())),
            Application::Bioimg => {}
            _ => return None,
        }
        let levels: Vec<String> = paths.iter().map(|path| join(folder, path)).collect();
        let fits = (1..=LEVELS_MAX).contains(&levels.len()) && levels.iter().all(|path| is_child(path));
        fits.then(|| Self {
            dataset,
            name: last_part(folder).to_owned(),
            levels,
        })
    }
}
