//! Loads the facts about an array that the Zarr view needs besides its schema.

use std::sync::Arc;

use futures_util::future;

use super::Source;
use crate::array::sections::load_index;
use crate::array::{Array, Group, ObjectType, OpenOptions, Window, object_type};
use crate::conventions::{self, Dataset};
use crate::error::Result;
use crate::vfs::split;
use crate::view::fill::{Doubts, Facts};
use crate::view::folder::Folder;
use crate::view::meaning::{Meaning, MeaningLines, ShownCoordinates};
use crate::view::snapshot::Snapshot;

/// The facts about an array, which are loaded once.
///
/// # Errors
/// Errors of reading the metadata of the array and its fragments.
pub(super) async fn of(snapshot: &Snapshot) -> Result<Arc<Facts>> {
    let mut kept = snapshot.facts.lock().await;
    if let Some(facts) = &*kept {
        return Ok(Arc::clone(facts));
    }
    let facts = Arc::new(load(&snapshot.array).await?);
    *kept = Some(Arc::clone(&facts));
    Ok(facts)
}

/// The description of an array, which is loaded once.
///
/// # Errors
/// Errors of reading the metadata of the array.
pub(super) async fn dataset(snapshot: &Snapshot) -> Result<Arc<Dataset>> {
    let mut kept = snapshot.dataset.lock().await;
    if let Some(dataset) = &*kept {
        return Ok(Arc::clone(dataset));
    }
    let dataset = Arc::new(conventions::of_array(&snapshot.array).await?);
    *kept = Some(Arc::clone(&dataset));
    Ok(dataset)
}

async fn load(array: &Array) -> Result<Facts> {
    let doubts = Doubts::of(array);
    let sections = doubts.sections();
    let loaded = future::try_join(array.metadata(), load_index(array, &sections));
    let ((metadata, ()), (meaning, summary)) = future::try_join(loaded, meaning(array)).await?;
    Ok(Facts {
        metadata,
        filled: doubts.settled(),
        meaning,
        summary,
    })
}

/// What a group of arrays means, in lines for people. Empty for other folders, and for groups that cannot be read.
pub(super) async fn of_folder(source: &Source, folder: &Folder, window: Window) -> MeaningLines {
    if !folder.is_group {
        return MeaningLines::new();
    }
    let mut kept = folder.summary.lock().await;
    if let Some(summary) = &*kept {
        return summary.clone();
    }
    let options = OpenOptions {
        window,
        key: source.options.key.clone(),
    };
    let described = conventions::of(&source.context, &folder.path, &options).await;
    // A group that cannot be read now may be readable later.
    let Ok(summary) = described.map(|dataset| dataset.summary()) else {
        return MeaningLines::new();
    };
    *kept = Some(summary.clone());
    summary
}

async fn meaning(array: &Array) -> Result<(Meaning, MeaningLines)> {
    let (mut dataset, root, path) = match in_group(array).await {
        Some((dataset, group, path)) => (dataset, group, path),
        None => (
            conventions::of_array(array).await?,
            array.path().to_owned(),
            String::new(),
        ),
    };
    let mut meaning = Meaning::new(array.schema(), &dataset, &path);
    for (dimension, at, attribute) in meaning.coordinate_arrays() {
        let found = coordinates(array, &root, &at, &attribute).await;
        if let (Some(axis), Some(found)) = (meaning.axes.get_mut(dimension), found) {
            axis.coordinates = found;
        }
    }
    if !path.is_empty() {
        dataset = meaning.without_others(dataset);
    }
    Ok((meaning, dataset.summary()))
}

/// The description of the group around an array, the group's path, and the array's path in the group. `None` if the group
/// tells nothing about the array.
async fn in_group(array: &Array) -> Option<(Dataset, String, String)> {
    if array.path().is_empty() {
        return None;
    }
    let (folder, name) = split(array.path());
    let (context, options) = (array.context(), options(array));
    if object_type(context, folder).await.ok()? != Some(ObjectType::Group) {
        return None;
    }
    let metadata = Group::open(context, folder, &options)
        .await
        .ok()?
        .metadata()
        .await
        .ok()?;
    // Other groups tell nothing that the array does not.
    let tells = ["dataset_type", "Conventions", "soma_multiscale_image_schema"];
    if !tells.iter().any(|key| metadata.contains_key(*key)) {
        return None;
    }
    let dataset = conventions::of(context, folder, &options).await.ok()?;
    let is_known = dataset.variables.iter().any(|v| v.path == name) || dataset.levels.iter().any(|l| l.path == name);
    is_known.then(|| (dataset, folder.to_owned(), name.to_owned()))
}

/// The coordinates in the array at `path`, as a description of the object at `root` has it. `None` if they cannot be read.
async fn coordinates(array: &Array, root: &str, path: &str, attribute: &str) -> Option<ShownCoordinates> {
    let (context, path) = conventions::place(array.context(), root, path)?;
    let found = Array::open(&context, &path, &options(array)).await.ok()?;
    let metadata = found.metadata().await.ok()?;
    ShownCoordinates::in_array(found, attribute, &metadata)
}

fn options(array: &Array) -> OpenOptions {
    OpenOptions {
        window: array.window(),
        key: array.key().cloned(),
    }
}
