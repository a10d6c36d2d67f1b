//! Consolidation of fragment metadata, commits and array metadata.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::COMMITTING;
use super::catalog::Catalog;
use super::options::Consolidation;
use super::vacuum::put_ignore_file;
use crate::array::fetch::RELISTINGS;
use crate::array::meta::load_entries;
use crate::array::{Array, Window};
use crate::error::{AtPath, Error, Result};
use crate::format::commits::{self, COMMITS_DIR};
use crate::format::folders::META_DIR;
use crate::format::fragment::footer::Footer;
use crate::format::metadata::{self, Entry};
use crate::format::{consolidated_metadata, generic_tile, name};
use crate::identity::Ids;
use crate::vfs::{VfsExt, join, last_part};
use crate::write::WriteOptions;
use crate::write::commit::put;

/// Writes the footers of the visible fragments into one file. Fragments of the oldest versions are left out: they have
/// no footer, or would be listed by their absolute path.
pub(super) async fn fragment_metadata(array: &Array, write: &WriteOptions) -> Result<Consolidation> {
    let fragments: Vec<_> = array
        .fragments()
        .iter()
        .filter(|f| f.version.has_index_file_names())
        .collect();
    let (Some(first), Some(last)) = (fragments.first(), fragments.last()) else {
        return Ok(Consolidation::default());
    };
    if fragments.len() < 2 {
        return Ok(Consolidation::default());
    }
    let mut footers = Vec::with_capacity(fragments.len());
    for f in &fragments {
        let path = f.metadata_path();
        let size = array.context().vfs.size(&path).await?;
        let tail = array.context().vfs.read_tail(&path, 8).await?.1;
        let range = Footer::locate(f.version, &f.schema, size, &tail).at(&path)?;
        let bytes = array.context().vfs.read(&path, &[range]).await?;
        footers.push((f.name.as_str(), bytes.into_iter().next().unwrap_or_default()));
    }
    let named: Vec<(&str, &[u8])> = footers.iter().map(|(name, bytes)| (*name, bytes.as_ref())).collect();
    let version = array.schema().version.for_new_fragments();
    let end_ms = fragments.iter().map(|f| f.end_ms).max().unwrap_or(last.end_ms);
    let mut ids = Ids::new(write.seed);
    let name = name::versioned(first.start_ms, end_ms, ids.draw(), version);
    let path = join(super::fragment_meta_dir(array), &format!("{name}.meta"));
    let payload = consolidated_metadata::encode(&named);
    let bytes = generic_tile::encode(&payload, array.key(), &ids.nonces(array.key())).at(&path)?;
    put(array, &path, bytes, write.sync).await?;
    Ok(Consolidation {
        written: vec![path],
        replaced: named.len(),
        ..Consolidation::default()
    })
}

/// Writes all commits in force into one file, including the contents of deletes.
pub(super) async fn commits(array: &Array, write: &WriteOptions) -> Result<Consolidation> {
    let version = array.schema().version.for_new_fragments();
    if !version.has_commit_folder() {
        return Err(Error::Unsupported(format!(
            "the array has format version {version}, whose commits cannot be consolidated; consolidate its fragments"
        )));
    }
    let _turn = array.context().vfs.lock(array.path(), COMMITTING).await?;
    let (catalog, all) = counting_commits(array).await?;
    let mut ids = Ids::new(write.seed);
    put_ignore_file(array, &catalog.vacuumed(), &mut ids).await?;
    let times = || all.iter().filter_map(|(path, _)| name::times(path));
    let (Some(first), Some(last)) = (times().map(|t| t.0).min(), times().map(|t| t.1).max()) else {
        return Ok(Consolidation::default());
    };
    if all.len() < 2 {
        return Ok(Consolidation::default());
    }
    let name = name::versioned(first, last, ids.draw(), version);
    let path = format!("{COMMITS_DIR}/{name}.con");
    let bytes = commits::encode_consolidated(all.iter().map(|(path, bytes)| (path.as_str(), bytes.as_deref())));
    put(array, &path, bytes, write.sync).await?;
    // A concurrent vacuum that did not see this list may have removed fragments that it names.
    let now = Catalog::load(array).await?;
    let was_there = |path: &str| commits::folder_of(path).is_some_and(|folder| catalog.folders.contains(&folder));
    let listed = all.iter().map(|(path, _)| path);
    let removed = listed.filter(|path| now.is_gone(path) && was_there(path)).cloned();
    let removed: BTreeSet<String> = removed.chain(now.vacuumed()).collect();
    put_ignore_file(array, &removed, &mut ids).await?;
    Ok(Consolidation {
        written: vec![path],
        replaced: all.len(),
        ..Consolidation::default()
    })
}

/// The path of a commit, and the contents if it is a delete.
type Commit = (String, Option<Bytes>);

/// All commits in force, oldest first, and the catalog they come from.
async fn counting_commits(array: &Array) -> Result<(Catalog, Vec<Commit>)> {
    for _ in 0..RELISTINGS {
        // A delete that disappeared is in a consolidated list now, and in the next catalog.
        match counting_commits_once(array).await {
            Err(Error::NotFound { .. }) => {}
            done => return done,
        }
    }
    counting_commits_once(array).await
}

async fn counting_commits_once(array: &Array) -> Result<(Catalog, Vec<Commit>)> {
    let catalog = Catalog::load(array).await?;
    let vacuumed = catalog.vacuumed();
    let counts = |path: &str| !catalog.ignored.contains(path) && !vacuumed.contains(path);
    let mut all: BTreeMap<String, Option<Bytes>> = BTreeMap::new();
    for file in &catalog.consolidated {
        for commit in file.commits.iter().filter(|c| counts(&c.path)) {
            let contents = commit.embedded.clone().map(|range| file.bytes.slice(range));
            all.entry(commit.path.to_string()).or_insert(contents);
        }
    }
    for path in &catalog.own {
        let contents = match path.ends_with(".del") {
            true => Some(array.context().vfs.read_all(&join(array.path(), path)).await?),
            false => None,
        };
        all.insert(path.clone(), contents);
    }
    let mut all: Vec<Commit> = all.into_iter().collect();
    all.sort_by(|(a, _), (b, _)| (name::times(a), a).cmp(&(name::times(b), b)));
    Ok((catalog, all))
}

/// The contents of a vacuum file for these paths relative to the array, each with a leading slash. Arrays of versions
/// before relative names get absolute URIs if the store has them.
pub(super) fn vacuum_list(array: &Array, paths: impl Iterator<Item = String>) -> Vec<u8> {
    let root = match array.schema().version.has_relative_vacuum_names() {
        true => None,
        false => array.context().vfs.location(array.path()),
    };
    let lines: Vec<String> = match root {
        Some(root) => paths.map(|p| format!("{root}{p}")).collect(),
        None => paths.collect(),
    };
    commits::encode_lines(lines.iter().map(String::as_str))
}

/// Writes the current keys and values into one file. It also lists the removed keys, because files before the window
/// may have them.
pub(super) async fn array_metadata(array: &Array, write: &WriteOptions) -> Result<Consolidation> {
    let whole = array.at(Window::ALL).await?;
    let files = neighbours(&whole.0.metadata_files, &array.0.metadata_files);
    let times = || files.iter().filter_map(|path| name::times(path));
    let (Some(first), Some(last)) = (times().map(|t| t.0).min(), times().map(|t| t.1).max()) else {
        return Ok(Consolidation::default());
    };
    if files.len() < 2 {
        return Ok(Consolidation::default());
    }
    let paths: Vec<String> = files.iter().map(|f| join(array.path(), f)).collect();
    let entries = load_entries(array.context(), &paths, array.key()).await?.into_iter();
    let entries: Vec<Entry> = entries.map(|(key, value)| Entry { key, value }).collect();
    let mut ids = Ids::new(write.seed);
    let path = join(META_DIR, &name::plain(first, last, ids.draw()));
    let bytes = generic_tile::encode(&metadata::encode(&entries), array.key(), &ids.nonces(array.key())).at(&path)?;
    put(array, &path, bytes, write.sync).await?;
    // For a moment readers see both; the new file has the same contents as the old ones together.
    let lines = files.iter().map(|f| format!("/__meta/{}", last_part(f)));
    put(array, &format!("{path}.vac"), vacuum_list(array, lines), write.sync).await?;
    Ok(Consolidation {
        written: vec![path],
        replaced: files.len(),
        ..Consolidation::default()
    })
}

/// The longest run of files of the window (`own`) with no other file of `all` in between. The merged file takes the
/// place of the first.
fn neighbours<'a>(all: &'a [String], own: &[String]) -> &'a [String] {
    let stretches = all.split(|f| !own.contains(f));
    stretches.max_by_key(|s| s.len()).unwrap_or_default()
}
