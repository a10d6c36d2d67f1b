//! The file and folder names below an array. Does no I/O.
//!
//! ```text
//! README.md  schema.json  metadata.json
//! thumb.png  a small image of a dense array (if it has at least two dimensions)
//! metadata/  a file per key
//! slices/    README.md; any selection with a format resolves, and small whole attributes are listed
//! tiles/     <attribute>/<i>/<j>.npy, one file per space tile with data (dense arrays)
//! at/        one link per write or delete, and `latest`; any time resolves, and so do `latest-1`, …
//! since/     nothing is listed; `T0..T1` resolves to the writes between two times
//! fragments/ <time>_<random part of the name>.json; `<name>.json` resolves too
//! overview/  <factor>/, the trees of the array's overviews (if it has any)
//! zarr/      the array as a Zarr v3 hierarchy (dense arrays)
//! ```
//!
//! Listings are finite, so programs that walk folders terminate. Times are links, because programs that walk folders do not
//! follow them: the whole tree exists for each time.

use std::cmp::Ordering;

use super::file_names::file_names;
use super::fragment_names::fragment_file;
use super::members::{self, Member};
use super::node::DirEntry;
use super::selection::shown_name;
use super::tiles::Tiles;
use crate::array::{Array, Window};
use crate::calendar;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::schema::Schema;
use crate::sort::sort_by;
use crate::suggest;

/// The name of the last write in `at`.
const LATEST: &str = "latest";

/// The meaning of a path below an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ViewPath<'a> {
    Root,
    Readme,
    Schema,
    Metadata,
    /// A folder with a file for each metadata key.
    MetadataKeys,
    MetadataKey(&'a str),
    Thumbnail,
    Overviews,
    Slices,
    SlicesReadme,
    /// A selection and a file extension.
    Slice(&'a str, &'a str),
    Tiles,
    /// The tiles of an attribute whose position starts with these indices.
    TileDir(String, Vec<u64>),
    Tile(String, Vec<u64>),
    Times,
    Since,
    Fragments,
    Fragment(&'a str),
    Zarr,
    ZarrGroup,
    ZarrArray(Member),
    ZarrMeta(Member),
    /// The chunks of an array whose key starts with these indices.
    ZarrDir(Member, Vec<u64>),
    ZarrChunk(Member, Vec<u64>),
}

/// Resolves the path `parts` below an array; `None` if the name does not exist.
///
/// # Errors
/// [`Error::InvalidArgument`] for an invalid selection name.
pub(super) fn place<'a>(parts: &[&'a str], schema: &Schema) -> Result<Option<ViewPath<'a>>> {
    Ok(Some(match *parts {
        [] => ViewPath::Root,
        ["README.md"] => ViewPath::Readme,
        ["schema.json"] => ViewPath::Schema,
        ["metadata.json"] => ViewPath::Metadata,
        ["metadata"] => ViewPath::MetadataKeys,
        ["metadata", name] => ViewPath::MetadataKey(name),
        ["thumb.png"] => ViewPath::Thumbnail,
        ["overview"] => ViewPath::Overviews,
        ["slices"] => ViewPath::Slices,
        ["slices", "README.md"] => ViewPath::SlicesReadme,
        // These are not failed selections.
        ["slices", name] if is_probed(name, schema) => return Ok(None),
        ["slices", name] => match name.rsplit_once('.') {
            Some((selection, ending)) => ViewPath::Slice(selection, ending),
            None => {
                return Err(Error::invalid(format!(
                    "'{name}' has no extension; write {name}.npy or {name}.csv"
                )));
            }
        },
        ["tiles"] if schema.is_dense() => ViewPath::Tiles,
        ["tiles", attribute, ref rest @ ..] if schema.is_dense() => return Ok(tile(attribute, rest, schema)),
        ["at"] => ViewPath::Times,
        ["since"] => ViewPath::Since,
        ["fragments"] => ViewPath::Fragments,
        ["fragments", name] if name.ends_with(".json") => ViewPath::Fragment(name),
        ["zarr", ref rest @ ..] if schema.is_dense() => return Ok(zarr_place(rest, schema)),
        [name] => return unknown(name),
        _ => return Ok(None),
    }))
}

/// `None`, or an error if the name is close to one of a listing. Programs also probe names, which are no mistakes.
fn unknown<'a>(name: &str) -> Result<Option<ViewPath<'a>>> {
    let known = [
        "README.md",
        "at",
        "fragments",
        "metadata",
        "metadata.json",
        "overview",
        "schema.json",
        "since",
        "slices",
        "thumb.png",
        "tiles",
        "zarr",
    ];
    if name.starts_with('.') || known.contains(&name) || suggest::closest(name, known.into_iter()).is_none() {
        return Ok(None);
    }
    Err(Error::invalid(suggest::unknown("name", name, &known)))
}

/// Whether a name is one that programs probe, such as `.git` or `all.npy~`. Selections may also start with a dot.
fn is_probed(name: &str, schema: &Schema) -> bool {
    let of_attribute = || {
        schema
            .attributes
            .iter()
            .any(|a| !a.name.is_empty() && name.starts_with(&a.name))
    };
    let starts = |rest: &str| rest.starts_with('.') || rest.starts_with(|c: char| c.is_ascii_digit());
    let selects = |rest: &str| starts(rest) || name.contains('@') || of_attribute();
    name.strip_prefix('.').is_some_and(|rest| !selects(rest)) || name.ends_with('~')
}

fn zarr_place<'a>(rest: &[&str], schema: &Schema) -> Option<ViewPath<'a>> {
    let (name, rest) = match *rest {
        [] => return Some(ViewPath::Zarr),
        ["zarr.json"] => return Some(ViewPath::ZarrGroup),
        [name, ref rest @ ..] => (name, rest),
    };
    let member = members::member(schema, name)?;
    match *rest {
        [] => Some(ViewPath::ZarrArray(member)),
        ["zarr.json"] => Some(ViewPath::ZarrMeta(member)),
        ["c", ref key @ ..] => {
            let numbers = numbers(key.iter().copied())?;
            match key.len().cmp(&member.chunk_axes(schema)) {
                Ordering::Less => Some(ViewPath::ZarrDir(member, numbers)),
                Ordering::Equal => Some(ViewPath::ZarrChunk(member, numbers)),
                Ordering::Greater => None,
            }
        }
        _ => None,
    }
}

/// Parses numbers in canonical spelling only, so that each file has one name.
fn numbers<'a>(names: impl Iterator<Item = &'a str>) -> Option<Vec<u64>> {
    names
        .map(|s| s.parse().ok().filter(|n: &u64| n.to_string() == s))
        .collect()
}

fn tile<'a>(attribute: &str, rest: &[&str], schema: &Schema) -> Option<ViewPath<'a>> {
    let attribute = tiled_attributes(schema)
        .find(|(shown, _)| shown == attribute)?
        .1
        .to_owned();
    let dimensions = schema.dimensions.len();
    let Some((last, before)) = rest.split_last() else {
        return Some(ViewPath::TileDir(attribute, Vec::new()));
    };
    let is_file = rest.len() == dimensions;
    let last = if is_file { last.strip_suffix(".npy")? } else { last };
    let all = before.iter().copied().chain([last]);
    let numbers = numbers(all)?;
    match rest.len().cmp(&dimensions) {
        Ordering::Less => Some(ViewPath::TileDir(attribute, numbers)),
        Ordering::Equal => Some(ViewPath::Tile(attribute, numbers)),
        Ordering::Greater => None,
    }
}

/// Attributes whose tiles numpy can represent, each after the name of its folder.
fn tiled_attributes(schema: &Schema) -> impl Iterator<Item = (String, &str)> {
    let tiled = || schema.attributes.iter().filter(|a| !a.cell.is_var());
    let shown: Vec<_> = tiled().map(|a| shown_name(&a.name, schema)).collect();
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    file_names(&shown).into_iter().zip(tiled().map(|a| a.name.as_str()))
}

/// Lists a folder.
///
/// # Errors
/// [`Error::NotFound`] for a file or a folder without data; [`Error::LimitExceeded`] if there are too many names.
pub(super) fn list(array: &Array, place: &ViewPath<'_>, at_now: bool) -> Result<Vec<DirEntry>> {
    let schema = array.schema();
    Ok(match place {
        ViewPath::Root => {
            let mut names = vec![DirEntry::file("README.md")];
            if at_now {
                names.push(DirEntry::dir("at"));
            }
            names.extend([
                DirEntry::dir("fragments"),
                DirEntry::dir("metadata"),
                DirEntry::file("metadata.json"),
                DirEntry::file("schema.json"),
            ]);
            if at_now {
                names.push(DirEntry::dir("since"));
            }
            names.push(DirEntry::dir("slices"));
            if schema.is_dense() {
                names.push(DirEntry::dir("tiles"));
            }
            if !members::members(schema).is_empty() {
                names.push(DirEntry::dir("zarr"));
            }
            names
        }
        ViewPath::Since => Vec::new(),
        ViewPath::Tiles => tiled_attributes(schema)
            .map(|(shown, _)| DirEntry::dir(shown))
            .collect(),
        ViewPath::TileDir(_, prefix) => {
            let files = prefix.len() + 1 == schema.dimensions.len();
            let name = |n: u64| {
                if files {
                    DirEntry::file(format!("{n}.npy"))
                } else {
                    DirEntry::dir(n.to_string())
                }
            };
            let tiles = Tiles::of(array)?;
            if !tiles.holds(prefix) {
                return Err(Error::not_found(array.path(), "no tile in this folder contains data"));
            }
            tiles.next(prefix)?.into_iter().map(name).collect()
        }
        ViewPath::Times => {
            let times = array.times();
            let latest = times.last().map(|_| DirEntry::link(LATEST));
            let times = times.into_iter().map(|t| DirEntry::link(time_name(t)));
            times.chain(latest).collect()
        }
        ViewPath::Fragments => {
            let mut names: Vec<_> = array
                .fragments()
                .iter()
                .map(|f| DirEntry::file(fragment_file(f)))
                .collect();
            sort_by(&mut names, |a, b| a.name.cmp(&b.name));
            names
        }
        _ => return Err(Error::not_found(array.path(), "this is a file, not a folder")),
    })
}

/// The name of a time in `at`: ISO 8601, or milliseconds since 1970 for years that ISO 8601 cannot express.
fn time_name(ms: u64) -> String {
    let iso = i64::try_from(ms).map(|ms| calendar::format(ms, Datatype::DatetimeMs) + "Z");
    iso.ok()
        .filter(|name| period(name).is_ok_and(|p| p == (ms, ms)))
        .unwrap_or_else(|| format!("{ms}ms"))
}

/// The target of a listed name in `at`, which is a link to a name that is not listed; `None` for other paths.
pub(super) fn link_target(parts: &[&str], times: &[u64]) -> Option<String> {
    let ["at", name] = parts else { return None };
    if *name == LATEST {
        return times.last().map(|time| calendar::format_milliseconds(*time));
    }
    let time = time(name).ok()?;
    let is_listed = times.binary_search(&time).is_ok() && time_name(time) == *name;
    is_listed.then(|| calendar::format_milliseconds(time))
}

/// The time window of a path below an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Past<'p, 'a> {
    /// The current state.
    Now,
    /// A window of time, and the path below it.
    Window(Window, &'p [&'a str]),
    /// A name that programs probe, not a time.
    Unseen,
}

/// Parses `at/TIME/…` and `since/T0..T1/…`.
///
/// # Errors
/// [`Error::InvalidArgument`] for an invalid time; the message explains the syntax.
pub(super) fn past<'p, 'a>(parts: &'p [&'a str], array: &Array) -> Result<Past<'p, 'a>> {
    let window = match *parts {
        ["at", name, ..] if name.starts_with('.') => return Ok(Past::Unseen),
        ["since", name, ..] if name.starts_with('.') && !name.contains("..") => return Ok(Past::Unseen),
        ["at", name, ..] => Window::at(match back(name) {
            None => time(name)?,
            Some(back) => nth_last(array, name, back)?,
        }),
        ["since", name, ..] => {
            let (from, to) = name
                .split_once("..")
                .ok_or_else(|| Error::invalid(format!("'{name}' is not a time window; write T0..T1")))?;
            if from.is_empty() {
                return Err(Error::invalid(format!("'{name}' has no start; write 0{name}")));
            }
            let start_ms = start(from)?;
            let end_ms = if to.is_empty() { u64::MAX } else { time(to)? };
            if end_ms < start_ms {
                return Err(Error::invalid(format!(
                    "'{name}' ends before it starts; write the earlier time first"
                )));
            }
            Window { start_ms, end_ms }
        }
        _ => return Ok(Past::Now),
    };
    Ok(Past::Window(window, parts.get(2..).unwrap_or(&[])))
}

/// The time of the `back`-th write before the last one. `name` is for the error.
fn nth_last(array: &Array, name: &str, back: usize) -> Result<u64> {
    let times = array.times();
    let found = times.iter().rev().nth(back).copied();
    found.ok_or_else(|| {
        Error::invalid(match times.len() {
            0 => format!("there is no '{name}': nothing was written to the array yet"),
            1 => format!("there is no '{name}': the array was written to once; `latest` is that write"),
            n => format!(
                "there is no '{name}': the array was written to {n} times; `latest-{}` is the first",
                n - 1
            ),
        })
    })
}

/// Parses `latest` as 0 and `latest-N` as N, the number of writes before the last one.
fn back(name: &str) -> Option<usize> {
    match name.strip_prefix(LATEST)? {
        "" => Some(0),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

/// The time of a folder below `at/`: the end of a period, in ISO 8601 or milliseconds since 1970.
///
/// # Errors
/// [`Error::InvalidArgument`] with a hint.
pub fn time(name: &str) -> Result<u64> {
    period(name).map(|(_, end)| end)
}

/// The start of a period.
fn start(name: &str) -> Result<u64> {
    period(name).map(|(start, _)| start)
}

fn period(name: &str) -> Result<(u64, u64)> {
    calendar::milliseconds(name).map_err(Error::invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::schema::{ArrayType, Attribute, Dimension};

    fn schema() -> Schema {
        let dims = ["x", "y"].map(|n| Dimension::new(n, Datatype::Int32, 0_i32, 99_i32, 10_i32));
        let attr = |n: &str, cell| Attribute::new(n, Datatype::Uint8, cell);
        let attributes = vec![
            attr("", CellCount::ONE),
            attr("a/b", CellCount::ONE),
            attr("var", CellCount::Var),
        ];
        Schema::new(ArrayType::Dense, dims.into(), attributes)
    }

    #[track_caller]
    fn check(path: &str, expect: Option<ViewPath<'_>>) {
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        assert_eq!(place(&parts, &schema()).unwrap(), expect, "{path}");
    }

    #[test]
    fn listed_names_resolve() {
        check("", Some(ViewPath::Root));
        check("schema.json", Some(ViewPath::Schema));
        check("slices/README.md", Some(ViewPath::SlicesReadme));
        check("fragments/__1_1_a_22.json", Some(ViewPath::Fragment("__1_1_a_22.json")));
        check("fragments/__1_1_a_22", None);
        check("nothing", None);
        check("README.md/x", None);
    }

    #[test]
    fn slices_are_split_at_their_last_dot() {
        check("slices/a@1.5:2.5,3.npy", Some(ViewPath::Slice("a@1.5:2.5,3", "npy")));
        check("slices/.git", None);
        check("slices/..5.npy", Some(ViewPath::Slice("..5", "npy")));
        check("slices/all.npy~", None);
        assert!(place(&["slices", "all"], &schema()).is_err());
    }

    #[test]
    fn tiles_have_one_name_each() {
        check("tiles/data", Some(ViewPath::TileDir(String::new(), vec![])));
        check("tiles/a%2Fb/3", Some(ViewPath::TileDir("a/b".into(), vec![3])));
        check("tiles/data/3/12.npy", Some(ViewPath::Tile(String::new(), vec![3, 12])));
        for path in [
            "tiles/var",
            "tiles/data/03",
            "tiles/data/+3",
            "tiles/data/3/12",
            "tiles/data/3/12.npy/4",
            "tiles/data/x",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn listed_times_are_links_to_other_names() {
        let times = [0, 2024, 1_700_000_000_123, 253_402_300_800_000, u64::MAX];
        let names = times.map(time_name);
        assert_eq!(
            names[..3],
            [
                "1970-01-01T00:00:00.000Z",
                "1970-01-01T00:00:02.024Z",
                "2023-11-14T22:13:20.123Z"
            ]
        );
        for (ms, name) in times.iter().zip(&names) {
            let target = link_target(&["at", name], &times).unwrap();
            assert_eq!((time(name).unwrap(), time(&target).unwrap()), (*ms, *ms));
            assert_eq!(link_target(&["at", &target], &times), None);
        }
        assert_eq!(link_target(&["at", "1970-01-01T00:00:00.001Z"], &times), None);
    }

    #[test]
    fn times_are_numbers_or_periods() {
        assert_eq!(time("12").unwrap(), 12);
        assert_eq!(time("2000ms").unwrap(), 2000);
        assert_eq!(time("2026").unwrap(), 1_798_761_599_999);
        assert_eq!(time("1970-01-01").unwrap(), 86_399_999);
        assert_eq!(time("1970-01-01T00:00:00.007").unwrap(), 7);
        assert!(time("soon").unwrap_err().to_string().contains("milliseconds"));
        assert!(time("1960-01-01").is_err());
    }
}
