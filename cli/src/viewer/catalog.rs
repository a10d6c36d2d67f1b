//! The list of arrays and groups that the viewer shows, with a sentence about each.

use std::collections::BTreeSet;

use anyhow::Result;
use hyperslab::conventions::{self, Application, Dataset};
use hyperslab::group::{ObjectType, object_type};
use hyperslab::internals::array::may_be_array;
use hyperslab::internals::vfs::percent_encode;
use hyperslab::vfs::{EntryKind, join};
use hyperslab::{Array, Window};
use serde::Serialize;

use super::neighbours::{name_of, neighbour_paths};
use crate::store::{Env, Place};
use crate::{errors, info, show};

/// The name of the list, next to the page.
pub(crate) const CATALOG: &str = "arrays.json";

/// How many arrays and groups are listed. Further ones open by their URL.
const ENTRIES_MAX: usize = 200;
/// How many folders are searched for them.
const FOLDERS_MAX: usize = 500;
/// How deep these folders may be in one another.
const DEPTH_MAX: usize = 4;
/// The most characters of a sentence.
const ABOUT_MAX: usize = 240;

/// An array or a group in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) title: String,
    /// Its URL, relative to the page or absolute.
    pub(crate) url: String,
    /// A sentence about its contents.
    pub(crate) about: String,
}

/// The list as the page reads it.
pub(crate) fn json(entries: &[Entry]) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec_pretty(entries)?)
}

/// The arrays and groups at a place and in its folders, which a page finds below `base`. Groups are listed as one. Arrays
/// that another one names, such as its overviews, are left out.
///
/// # Errors
/// The place cannot be listed.
pub(crate) async fn list(env: &Env, place: &Place, base: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut named = BTreeSet::new();
    let mut folders = vec![(String::new(), 0)];
    let mut searched = 0;
    while let Some((path, depth)) = folders.pop() {
        searched += 1;
        if entries.len() >= ENTRIES_MAX || searched > FOLDERS_MAX {
            break;
        }
        let here = if path.is_empty() {
            place.clone()
        } else {
            place.join(&path)
        };
        let found = object_type(&here.context, &here.path).await;
        let kind = match found {
            Ok(kind) => kind,
            // A folder that may not be read has nothing to show.
            Err(_) if depth > 0 => continue,
            Err(error) => return Err(error.into()),
        };
        if let Some(kind) = kind {
            let (entry, dataset) = entry(env, &here, kind, &path, base).await;
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            named.extend(neighbour_paths(&dataset).into_iter().map(|path| join(folder, path)));
            entries.push((path, entry));
        } else if depth < DEPTH_MAX {
            let listed = here.context.vfs.list(&here.path).await?;
            let inner = listed
                .into_iter()
                .rev()
                .filter(|e| e.kind == EntryKind::Dir && is_shown(&e.name));
            folders.extend(inner.map(|e| (join(&path, &e.name), depth + 1)));
        }
    }
    entries.retain(|(path, _)| path.is_empty() || !named.contains(path));
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn is_shown(name: &str) -> bool {
    may_be_array(name) && !name.starts_with('.')
}

/// The entry of the array or group at a place, and its description.
async fn entry(env: &Env, place: &Place, kind: ObjectType, path: &str, base: &str) -> (Entry, Dataset) {
    let title = if path.is_empty() {
        name_of(place)
    } else {
        path.to_owned()
    };
    let url = join(base, &percent_encode(path).to_string());
    let (about, dataset) = match describe(env, place, kind).await {
        Ok(described) => described,
        Err(error) => (
            format!("Cannot be opened: {}", errors::sentence(&error)),
            Dataset::default(),
        ),
    };
    let about = show::shorten(&about, ABOUT_MAX);
    (Entry { title, url, about }, dataset)
}

/// A sentence about the array or group at a place, and its description.
async fn describe(env: &Env, place: &Place, kind: ObjectType) -> Result<(String, Dataset)> {
    if kind == ObjectType::Group {
        let dataset = conventions::of(&place.context, &place.path, &env.options(Window::ALL)).await?;
        return Ok((format!("Group: {}", holds(&dataset)), dataset));
    }
    let array = env.open_at(place, Window::ALL).await?;
    let dataset = conventions::of_array(&array).await?;
    let meaning = match dataset.application {
        Application::Bare => String::new(),
        _ => format!("; {}", holds(&dataset)),
    };
    Ok((format!("{}{meaning}", shape(&array)), dataset))
}

/// The part of the description that says what an array or group holds.
fn holds(dataset: &Dataset) -> String {
    let lines = dataset.summary();
    let first = lines.iter().find(|(kind, _)| *kind == "holds");
    let title = dataset.application.title();
    first.map_or_else(|| title.to_owned(), |(_, text)| text.clone())
}

/// `Dense, 344 × 403: elevation int16`.
fn shape(array: &Array) -> String {
    let schema = array.schema();
    let lengths = (0..schema.dimensions.len()).map(|d| show::length(schema.limits(d)?));
    let lengths: Option<Vec<String>> = lengths.map(|n| n.map(|n| n.to_string())).collect();
    let size = match lengths.filter(|_| schema.is_dense()) {
        Some(lengths) => lengths.join(" × "),
        None => {
            let cells = array.fragments().iter().map(|f| f.cells);
            show::count(crate::sizes::total(cells), "cell")
        }
    };
    let attributes: Vec<String> = schema.attributes.iter().map(show::attribute).collect();
    let kind = info::kind(schema);
    let (first, rest) = kind.split_at(1);
    format!(
        "{}{rest}, {size}: {}",
        first.to_ascii_uppercase(),
        attributes.join(", ")
    )
}
