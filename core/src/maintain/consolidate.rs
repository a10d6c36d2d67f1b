//! Consolidation of fragments, fragment metadata, commits and array metadata.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::catalog::Catalog;
use super::options::{ConsolidateOptions, Consolidation, Merge, times};
use super::pending::Pending;
use super::vacuum::RemovalPlan;
use super::{COMMITTING, CONSOLIDATING, Mode, check_fill_value, dense, lists, pending, selection, sparse};
use crate::array::{Array, Fragment, Window};
use crate::error::{Error, Result};
use crate::format::commits::{self, COMMITS_DIR, FRAGMENTS_DIR};
use crate::format::name;
use crate::format::schema::{Attribute, Schema};
use crate::identity::Ids;
use crate::query::tile::StoredField;
use crate::vfs::{VfsExt, join, last_part};
use crate::write::WriteOptions;
use crate::write::commit::{Draft, Sealed, put, put_commit};

/// Consolidates what is visible in the array's window. The new files have the timestamps of those they replace. New
/// fragments have the latest schema as of the timestamp in `write` or the window's end, whichever is later.
///
/// Readers see either the old or the new fragments, never a mixture. Vacuum removes the old ones.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "line", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 1, 2, 3, 4, 5, 6, 7]) };
/// # array.write(cells, &at(10)).await?;
/// use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate};
///
/// let cells = Cells { region: Some(vec![ScalarRange::new(2, 3)]), layout: Layout::RowMajor, columns: column(&[20, 30]) };
/// array.write(cells, &at(20)).await?;
/// let array = array.at(Window::ALL).await?;
/// assert_eq!(array.fragments().len(), 2);
///
/// let done = consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &at(30)).await?;
/// assert_eq!((done.written.len(), done.replaced), (1, 2));
/// assert_eq!(array.at(Window::ALL).await?.fragments().len(), 1);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// - [`Error::NotFound`] if a named fragment is not visible, or if another process replaced it meanwhile.
/// - [`Error::InvalidArgument`] if merging the named fragments would change what readers see.
/// - [`Error::LimitExceeded`] if the memory does not suffice to merge one tile at a time.
pub async fn consolidate(array: &Array, options: &ConsolidateOptions, write: &WriteOptions) -> Result<Consolidation> {
    let turn = array.context().vfs.lock(array.path(), CONSOLIDATING).await?;
    // The previous holder of the lock may have merged fragments since the array was opened.
    let array = &match turn {
        Some(_) => {
            pending::finish(array, write.sync).await?;
            array.at(array.window()).await?
        }
        None => array.clone(),
    };
    match options.mode {
        Mode::Fragments => fragments(array, options, write).await,
        Mode::FragmentMetadata => lists::fragment_metadata(array, write).await,
        Mode::Commits => lists::commits(array, write).await,
        Mode::ArrayMetadata => lists::array_metadata(array, write).await,
    }
}

/// Returns the names of the fragments that [`consolidate`] would merge first, oldest first. Later merges depend on it.
///
/// # Errors
/// Those of choosing the fragments in [`consolidate`].
pub async fn next_merge(array: &Array, options: &ConsolidateOptions) -> Result<Vec<String>> {
    let run = match &options.fragments {
        Some(names) => selection::of_names(array, names).await?,
        None => selection::next(array, options).await?.unwrap_or_default(),
    };
    Ok(run.iter().map(|f| f.name.clone()).collect())
}

async fn fragments(array: &Array, options: &ConsolidateOptions, write: &WriteOptions) -> Result<Consolidation> {
    let merge = Merge {
        memory_bytes: options.memory_bytes,
        purge: options.purge_deleted,
        fragment_bytes_max: options.fragment_bytes_max,
        sync: write.sync,
    };
    let mut ids = Ids::new(write.seed);
    let mut done = Consolidation::default();
    let mut current = array.with_schema_of(write.timestamp_ms).await?;
    for _ in 0..options.steps.count {
        let run = match &options.fragments {
            Some(names) => selection::of_names(&current, names).await?,
            None => match selection::next(&current, options).await {
                Ok(Some(run)) => run,
                Ok(None) => break,
                // Keep the merges that the memory sufficed for.
                Err(Error::LimitExceeded { .. }) if !done.written.is_empty() => break,
                Err(e) => return Err(e),
            },
        };
        check_fill_value::check_absent(current.schema(), &run)?;
        let sealed = if current.schema().is_dense() {
            dense::merge(&current, &run, &merge, &mut ids).await?
        } else {
            sparse::merge(&current, &run, &merge, &mut ids).await?
        };
        if sealed.is_empty() {
            break;
        }
        let written = replace(&current, &run, sealed, write, &mut ids).await?;
        // A run that was split into several fragments would be chosen and split again.
        let split = written.len() > 1;
        done.written.extend(written);
        done.dropped.extend(dropped(current.schema(), &run));
        done.replaced += run.len();
        if split || options.fragments.is_some() {
            break;
        }
        let next = current.at(current.window()).await?;
        current = next.with_schema_of(write.timestamp_ms).await?;
    }
    Ok(done)
}

/// The attributes of these fragments that a merge with this schema does not copy.
fn dropped(schema: &Schema, run: &[Arc<Fragment>]) -> BTreeSet<String> {
    let is_copied = |fragment: &Arc<Fragment>, a: &Attribute| {
        let new = schema.attribute(&a.name).map(|(_, new)| new);
        new.is_some_and(|new| StoredField::of_attribute(fragment, &new.name, new.datatype, new.cell).is_some())
    };
    let of = |f| move |a: &&Attribute| !is_copied(f, a);
    run.iter()
        .flat_map(|f| f.schema.attributes.iter().filter(of(f)))
        .map(|a| a.name.clone())
        .collect()
}

/// Commits the fragments that `run` was merged into, and lists the run as replaced. Returns their names.
///
/// If the store has locks, other merges and vacuums wait. Otherwise each merge looks for others after its commit and
/// withdraws if it sees one, so at most one of two concurrent merges stays.
async fn replace(
    array: &Array,
    run: &[Arc<Fragment>],
    sealed: Vec<Sealed>,
    write: &WriteOptions,
    ids: &mut Ids,
) -> Result<Vec<String>> {
    let names: Vec<String> = sealed.iter().map(|s| s.name.clone()).collect();
    let turn = array.context().vfs.lock(array.path(), COMMITTING).await?;
    let list = vacuum_list(array, run);
    let path = vacuum_list_path(array, &names);
    let ready = async {
        still_there(array, run).await?;
        // An abort waits for the list: between the commit and the list, readers of duplicates would see cells twice.
        let hold = array.context().hold()?;
        let pending = Pending::note(array, last_part(&path), &list, turn.as_deref(), write.sync).await?;
        Ok((hold, pending))
    };
    let (_hold, pending) = match ready.await {
        Ok(ready) => ready,
        Err(e) => {
            for name in &names {
                Draft::discard(array, name).await;
            }
            return Err(e);
        }
    };
    commit(array, run, sealed, write.sync, ids).await?;
    if turn.is_none()
        && let Err(e) = is_alone(array, run, &names).await
    {
        // The first failure is the one to report.
        let _ = withdraw(array, &names, write).await;
        return Err(e);
    }
    // The list is written last. Until then readers see both the old and the new fragments, at worst the same cells
    // twice. In the reverse order they could see neither.
    if let Err(e) = put(array, &path, list, write.sync).await {
        // Several fragments share one commit file, so they stay next to those they replace, as after a crash. A single
        // one also stays if taking it back fails, or if the failed list may still arrive: with the list but without the
        // fragment, readers would see neither.
        if names.len() == 1 && array.context().vfs.capabilities().failures_are_final {
            let _ = take_back(array, run, &names, write).await;
        }
        return Err(e);
    }
    pending.done(array).await;
    Ok(names)
}

/// Commits the fragments atomically. Several fragments become visible through one file that names them.
async fn commit(array: &Array, run: &[Arc<Fragment>], sealed: Vec<Sealed>, sync: bool, ids: &mut Ids) -> Result<()> {
    if sealed.len() > 1 {
        let (first, last) = times(run);
        let version = array.schema().version.for_new_fragments();
        let name = name::versioned(first, last, ids.draw(), version);
        let lines = commits::encode_consolidated(sealed.iter().map(|s| (s.commit.as_str(), None)));
        let names: Vec<&str> = sealed.iter().map(|s| s.name.as_str()).collect();
        return put_commit(array, &names, &format!("{COMMITS_DIR}/{name}.con"), lines, sync).await;
    }
    for only in sealed {
        only.commit().await?;
    }
    Ok(())
}

/// Fails unless every fragment of `run` still exists. If another consolidation has replaced one, readers would see its
/// cells twice.
async fn still_there(array: &Array, run: &[Arc<Fragment>]) -> Result<()> {
    let now = array.at(Window::ALL).await?;
    match run.iter().find(|f| !now.fragments().iter().any(|n| n.name == f.name)) {
        None => Ok(()),
        Some(gone) => Err(overtaken(
            array,
            &format!("fragment '{}' was merged or removed", gone.name),
        )),
    }
}

/// Fails if another merge was committed since `array` was opened that may have replaced fragments of `run` too. Readers
/// of an array with duplicates would see their cells twice. `own` are the names of the fragments `run` was merged into.
async fn is_alone(array: &Array, run: &[Arc<Fragment>], own: &[String]) -> Result<()> {
    let schema = array.schema();
    let timed = !schema.is_dense() && schema.version.for_new_fragments().has_delete_metadata();
    if !timed || !schema.allows_duplicates {
        return Ok(());
    }
    let (first, last) = times(run);
    let now = array.at(Window::ALL).await?;
    let is_known = |f: &Fragment| own.contains(&f.name) || array.fragments().iter().any(|k| k.name == f.name);
    let is_merged = |f: &Fragment| f.start_ms < f.end_ms || first == last;
    let meets = |f: &Fragment| f.start_ms <= last && first <= f.end_ms;
    match now
        .fragments()
        .iter()
        .find(|f| !is_known(f) && is_merged(f) && meets(f))
    {
        None => Ok(()),
        Some(other) => Err(overtaken(array, &format!("fragment '{}' was merged", other.name))),
    }
}

fn overtaken(array: &Array, what: &str) -> Error {
    let why = format!("{what} by another process meanwhile, so this merge was abandoned; run the consolidation again");
    Error::not_found(array.path(), why)
}

/// The contents of a vacuum file that lists the replaced fragments.
fn vacuum_list(array: &Array, run: &[Arc<Fragment>]) -> Vec<u8> {
    let lines = run.iter().map(|f| match f.version.has_commit_folder() {
        true => format!("/{FRAGMENTS_DIR}/{}", f.name),
        false => format!("/{}", f.name),
    });
    lists::vacuum_list(array, lines)
}

/// The path of the vacuum file. It is named after the first of the new fragments.
fn vacuum_list_path(array: &Array, names: &[String]) -> String {
    let in_folder = array.schema().version.for_new_fragments().has_commit_folder();
    let name = names.first().map_or("", String::as_str);
    join(if in_folder { COMMITS_DIR } else { "" }, &format!("{name}.vac"))
}

/// Removes the fragments that a run was merged into, because the list of replaced fragments could not be written and
/// readers of duplicates would see cells twice. They stay if another process has removed part of the run meanwhile.
async fn take_back(array: &Array, run: &[Arc<Fragment>], names: &[String], write: &WriteOptions) -> Result<()> {
    // The list may exist even though `put` failed, for instance if only its sync failed.
    let list = join(array.path(), &vacuum_list_path(array, names));
    array.context().vfs.remove(&list).await?;
    still_there(array, run).await?;
    withdraw(array, names, write).await
}

/// Hides and removes these fragments. Other processes may have listed their commits already, so they are ignored too.
async fn withdraw(array: &Array, names: &[String], write: &WriteOptions) -> Result<()> {
    let in_folder = array.schema().version.for_new_fragments().has_commit_folder();
    let dir = if in_folder { FRAGMENTS_DIR } else { "" };
    let folders = names.iter().map(|name| join(dir, name)).collect();
    let catalog = Catalog::load(array).await?;
    RemovalPlan::fragments(&catalog, &folders).run(array, write).await
}
