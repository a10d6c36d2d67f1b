//! The folders next to an array that its description names: its overviews, and the coordinates of its axes. A page finds
//! them by their names, so they are served and published with the array.

use std::collections::BTreeSet;
use std::path::Path;

use hyperslab::Context;
use hyperslab::conventions::{Coordinates, Dataset};
use hyperslab::internals::vfs::percent_decode;
use hyperslab::vfs::{VfsExt as _, check_path, join_url, last_part, local_path};

use crate::store::Place;

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

/// The names of the folders next to an array that its description names.
pub(crate) fn neighbour_names(dataset: &Dataset) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    collect(dataset, &mut names);
    names
}

/// The existing folders next to the root of a store that the description of the root names, each with its name.
pub(crate) fn neighbours(place: &Place, dataset: &Dataset) -> Vec<(String, Place)> {
    let own = name_of(place);
    let others = neighbour_names(dataset).into_iter();
    let others = others.filter(|name| *name != own && !name.starts_with('.'));
    others
        .filter_map(|name| Some((name.to_owned(), beside(place, name)?)))
        .collect()
}

/// The folder `name` next to a place.
fn beside(place: &Place, name: &str) -> Option<Place> {
    let (vfs, path) = place.context.vfs.neighbour(name).ok()??;
    let context = Context::new(vfs);
    let url = match place.local() {
        // A folder that is not there has nothing to serve.
        Some(_) => context
            .vfs
            .location(&path)
            .filter(|url| local_path(url).is_some_and(Path::is_dir))?,
        None => join_url(&place.url, &format!("../{name}")),
    };
    let root = url.clone();
    Some(Place {
        url,
        root,
        context,
        path,
    })
}

/// Collects the names of folders next to the described object. Its paths may come from anyone.
fn collect<'a>(dataset: &'a Dataset, names: &mut BTreeSet<&'a str>) {
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
    let outside = paths.filter_map(|path| path.strip_prefix("../")?.split('/').next());
    names.extend(outside.filter(|name| !name.is_empty() && check_path(name).is_ok()));
    dataset.children.iter().for_each(|child| collect(child, names));
}

#[cfg(test)]
mod tests {
    use hyperslab::conventions::Level;

    use super::*;

    #[test]
    fn only_folders_next_to_the_array_are_neighbours() {
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
            "../a.4",
        ];
        let dataset = Dataset {
            levels: paths.map(level).to_vec(),
            ..Dataset::default()
        };
        assert_eq!(
            neighbour_names(&dataset).into_iter().collect::<Vec<_>>(),
            ["a.4", "lat"]
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
