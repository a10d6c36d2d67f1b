//! The arrays and groups next to an array that its description names: its overviews, and the coordinates of its axes. A
//! page finds them by their paths, so they are served and published with the array. The description may come from
//! anyone, so nothing but these arrays and groups is.

use std::collections::BTreeSet;

use hyperslab::Context;
use hyperslab::conventions::{Coordinates, Dataset};
use hyperslab::group::object_type;
use hyperslab::internals::vfs::percent_decode;
use hyperslab::vfs::{VfsExt as _, check_path, join, join_url, last_part};

use crate::store::Place;
use crate::{errors, show};

/// The most neighbours of an array.
const NEIGHBOURS_MAX: usize = 1000;

/// The name under which a page finds the array, group or folder at a place.
pub(crate) fn name_of(place: &Place) -> String {
    let local = place.local().and_then(|path| path.canonicalize().ok());
    let own = match local {
        Some(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        None => {
            let path = place.url.split(['?', '#']).next().unwrap_or_default();
            percent_decode(last_part(path.trim_end_matches('/')))
        }
    };
    // Names that begin with a dot are hidden, and some hosts do not serve them.
    let own = own.unwrap_or_default().trim_start_matches('.').to_owned();
    if own.is_empty() || own.contains('/') || check_path(&own).is_err() {
        return "array".to_owned();
    }
    own
}

/// The paths of the arrays and groups next to an array that its description names, from the folder around it.
pub(crate) fn neighbour_paths(dataset: &Dataset) -> BTreeSet<&str> {
    let mut paths = BTreeSet::new();
    collect(dataset, &mut paths);
    paths
}

/// The arrays and groups next to the root of a store that the description of the root names, each with its path from the
/// folder around them. None is inside of another. Prints a note for each that cannot be read.
pub(crate) async fn neighbours(place: &Place, dataset: &Dataset) -> Vec<(String, Place)> {
    let own = name_of(place);
    let paths = neighbour_paths(dataset).into_iter();
    let mut found: Vec<(String, Place)> = Vec::new();
    for path in paths
        .filter(|path| !is_within(&own, path) && !is_hidden(path))
        .take(NEIGHBOURS_MAX)
    {
        if found.iter().any(|(outer, _)| is_within(outer, path)) {
            continue;
        }
        let Some(neighbour) = beside(place, path) else { continue };
        match object_type(&neighbour.context, &neighbour.path).await {
            Ok(Some(_)) => found.push((path.to_owned(), neighbour)),
            Ok(None) => {}
            Err(error) => show::note(format_args!(
                "'../{path}' is left out, because it cannot be read: {}",
                errors::sentence(&error.into())
            )),
        }
    }
    found
}

/// Whether a path is `outer` or below it.
fn is_within(outer: &str, path: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a part of a path begins with a dot. Such folders are not served.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// The neighbour at the path `beside`, which is relative to the folder that contains `place`.
fn beside(place: &Place, beside: &str) -> Option<Place> {
    let (name, rest) = beside.split_once('/').unwrap_or((beside, ""));
    let (vfs, folder) = place.context.vfs.neighbour(name).ok()??;
    let context = Context::new(vfs);
    let path = join(&folder, rest);
    let url = match place.local() {
        Some(_) => context.vfs.location(&path)?,
        None => join_url(&place.url, &format!("../{beside}")),
    };
    let root = url.clone();
    Some(Place {
        url,
        root,
        context,
        path,
    })
}

/// Collects the paths that lead out of the described object to the folder around it.
fn collect<'a>(dataset: &'a Dataset, found: &mut BTreeSet<&'a str>) {
    let axes = dataset.variables.iter().flat_map(|variable| &variable.axes);
    let coordinates = axes.filter_map(|axis| match &axis.coordinates {
        Coordinates::Array { path, .. } => Some(path),
        _ => None,
    });
    let variables = dataset.variables.iter().map(|variable| &variable.path);
    let levels = dataset.levels.iter().map(|level| &level.path);
    let tables = dataset.tables.iter().map(|table| &table.path);
    let embeddings = dataset.embeddings.iter().map(|embedding| &embedding.path);
    let paths = coordinates
        .chain(variables)
        .chain(levels)
        .chain(tables)
        .chain(embeddings);
    let outside = paths.filter_map(|path| path.strip_prefix("../"));
    found.extend(outside.filter(|path| !path.is_empty() && check_path(path).is_ok()));
    dataset.children.iter().for_each(|child| collect(child, found));
}

#[cfg(test)]
mod tests {
    use hyperslab::conventions::Level;

    use super::*;

    #[test]
    fn only_paths_in_the_folder_around_the_array_are_neighbours() {
        let level = |path: &str| Level {
            path: path.to_owned(),
            ..Level::default()
        };
        let paths = [
            "",
            "../a.4",
            "inside",
            "../../secret",
            "../..",
            "../",
            "../lat/x",
            "../lat/../x",
            "../lat//x",
            "../a.4",
        ];
        let dataset = Dataset {
            levels: paths.map(level).to_vec(),
            ..Dataset::default()
        };
        assert_eq!(
            neighbour_paths(&dataset).into_iter().collect::<Vec<_>>(),
            ["a.4", "lat/x"]
        );
    }

    #[test]
    fn names_are_plain() {
        for (url, name) in [
            ("s3://bucket/a/b/", "b"),
            ("https://h/x/y?sig=a/b", "y"),
            ("s3://bucket/.hidden", "hidden"),
            ("https://h/a%20b", "a b"),
            ("https://h/a%2F..", "array"),
        ] {
            let place = Place {
                url: url.to_owned(),
                root: url.to_owned(),
                context: Context::memory(),
                path: String::new(),
            };
            assert_eq!(name_of(&place), name);
        }
    }
}
