//! Consolidation of everything but cells: footers, commits, metadata.

use super::catalog::{self, Catalog};
use super::consolidate::Consolidation;
use crate::array::directory::META_DIR;
use crate::array::meta::load_entries;
use crate::array::{Array, Window};
use crate::error::{AtPath, Error, Result};
use crate::format::commits::{self, COMMITS_DIR};
use crate::format::fragment::footer::Footer;
use crate::format::metadata::{self, Entry};
use crate::format::{consolidated_metadata, generic_tile, name};
use crate::vfs::{join, last_part};
use crate::write::WriteOptions;
use crate::write::commit::{nonces, put};
use crate::write::identity::Ids;

/// Writes the footers of the visible fragments into one file. Fragments of the oldest versions have
/// none, or would be named by where the array lies now; they are left out.
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
    let bytes = generic_tile::encode(&payload, array.key(), &nonces(array.key(), &mut ids)).at(&path)?;
    put(array, &path, bytes, write.sync).await?;
    Ok(Consolidation {
        written: vec![path],
        replaced: named.len(),
    })
}

/// Writes all commits that count into one file, deletes with their contents.
pub(super) async fn commits(array: &Array, write: &WriteOptions) -> Result<Consolidation> {
    let version = array.schema().version.for_new_fragments();
    if !version.has_commit_folder() {
        return Err(Error::Unsupported(format!(
            "the array is of format version {version}, whose commits are not consolidated; consolidate its fragments"
        )));
    }
    let catalog = Catalog::load(array).await?;
    let mut all: Vec<(String, Option<bytes::Bytes>)> = Vec::new();
    for file in &catalog.consolidated {
        let counting = file
            .commits
            .iter()
            .filter(|c| !catalog.ignored.contains(c.path.as_ref()));
        for commit in counting.filter(|c| !catalog.own.contains(c.path.as_ref())) {
            if all.iter().all(|(path, _)| *path != commit.path) {
                all.push((
                    commit.path.to_string(),
                    commit.embedded.clone().map(|range| file.bytes.slice(range)),
                ));
            }
        }
    }
    for path in &catalog.own {
        let whole = join(array.path(), path);
        let bytes = if path.ends_with(".del") {
            Some(array.context().vfs.read_all(&whole).await?)
        } else {
            None
        };
        all.push((path.clone(), bytes));
    }
    all.sort_by(|(a, _), (b, _)| (catalog::times(a), a).cmp(&(catalog::times(b), b)));
    let times = || all.iter().filter_map(|(path, _)| catalog::times(path));
    let (Some(first), Some(last)) = (times().map(|t| t.0).min(), times().map(|t| t.1).max()) else {
        return Ok(Consolidation::default());
    };
    if all.len() < 2 {
        return Ok(Consolidation::default());
    }
    let name = name::versioned(first, last, Ids::new(write.seed).draw(), version);
    let path = format!("{COMMITS_DIR}/{name}.con");
    let bytes = commits::encode_consolidated(all.iter().map(|(path, bytes)| (path.as_str(), bytes.as_deref())));
    put(array, &path, bytes, write.sync).await?;
    Ok(Consolidation {
        written: vec![path],
        replaced: all.len(),
    })
}

/// A vacuum file of these paths below the array, each behind a slash. Readers of arrays before relative names
/// know fragments by their absolute URI, where the store has one.
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

/// Writes the keys and values that count into one file. It says too which keys were taken out: files of before the
/// window may have them.
pub(super) async fn array_metadata(array: &Array, write: &WriteOptions) -> Result<Consolidation> {
    let whole = array.at(Window::ALL).await?;
    let files = neighbours(&whole.0.metadata_files, &array.0.metadata_files);
    let times = || files.iter().filter_map(|path| catalog::times(path));
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
    let bytes =
        generic_tile::encode(&metadata::encode(&entries), array.key(), &nonces(array.key(), &mut ids)).at(&path)?;
    put(array, &path, bytes, write.sync).await?;
    // Readers take both for a moment: the new file says the same as the old ones together.
    let lines = files.iter().map(|f| format!("/__meta/{}", last_part(f)));
    put(array, &format!("{path}.vac"), vacuum_list(array, lines), write.sync).await?;
    Ok(Consolidation {
        written: vec![path],
        replaced: files.len(),
    })
}

/// The most files of the array's window, `own`, between which there is none of another time in `all`: what replaces
/// them takes the place of the first.
fn neighbours<'a>(all: &'a [String], own: &[String]) -> &'a [String] {
    let stretches = all.split(|f| !own.contains(f));
    stretches.max_by_key(|s| s.len()).unwrap_or_default()
}
