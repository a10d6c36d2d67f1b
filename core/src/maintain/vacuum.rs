//! Vacuum: removes what consolidation has replaced, and temporary files of crashed writers.

use std::collections::BTreeSet;

use super::catalog::{self, Catalog, commit_of};
use super::{COMMITTING, Mode};
use crate::array::{Array, Window};
use crate::error::{AtPath, Result};
use crate::format::commits::{self, COMMITS_DIR};
use crate::format::folders::META_DIR;
use crate::format::name;
use crate::identity::Ids;
use crate::vfs::{EntryKind, VfsExt, join, last_part};
use crate::write::WriteOptions;
use crate::write::commit::put;

/// Removes what was replaced within the array's window. In the mode [`Mode::Fragments`] it also removes unfinished
/// files of crashed writers. Returns the removed paths, relative to the array and in order of removal. With `dry_run`,
/// nothing is removed.
///
/// Readers that opened the array before the vacuum may fail afterwards.
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
/// use hyperslab::maintain::{ConsolidateOptions, Mode, consolidate, vacuum};
///
/// let cells = Cells { region: Some(vec![ScalarRange::new(2, 3)]), layout: Layout::RowMajor, columns: column(&[20, 30]) };
/// array.write(cells, &at(20)).await?;
/// let array = array.at(Window::ALL).await?;
/// consolidate(&array, &ConsolidateOptions::new(Mode::Fragments), &at(30)).await?;
///
/// // First look, then remove the two fragments that were merged.
/// let array = array.at(Window::ALL).await?;
/// let planned = vacuum(&array, Mode::Fragments, true, &at(40)).await?;
/// assert_eq!(vacuum(&array, Mode::Fragments, false, &at(40)).await?, planned);
/// assert!(vacuum(&array, Mode::Fragments, false, &at(50)).await?.is_empty());
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// [`crate::Error::Io`].
pub async fn vacuum(array: &Array, mode: Mode, dry_run: bool, write: &WriteOptions) -> Result<Vec<String>> {
    let _turn = array.context().vfs.lock(array.path(), COMMITTING).await?;
    let plan = match mode {
        Mode::Fragments => replaced_fragments(array).await?.then_files(leftovers(array).await?),
        Mode::Commits => redundant_commits(&Catalog::load(array).await?),
        Mode::FragmentMetadata => old_fragment_metadata(array).await?,
        Mode::ArrayMetadata => replaced_metadata(array).await?,
    };
    if !dry_run {
        plan.run(array, write).await?;
    }
    Ok(plan.steps.into_iter().map(Step::path).collect())
}

/// The files and folders to remove, in this order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RemovalPlan {
    /// Commits listed in consolidated files that must be ignored before anything is removed.
    ignore: BTreeSet<String>,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
enum Step {
    File(String),
    Folder(String),
}

impl Step {
    fn path(self) -> String {
        match self {
            Self::File(path) | Self::Folder(path) => path,
        }
    }
}

impl RemovalPlan {
    /// Removes fragments. The commit of each is removed before its folder.
    pub(super) fn fragments(catalog: &Catalog, folders: &BTreeSet<String>) -> Self {
        let mut plan = Self::mending(catalog);
        for folder in folders {
            let commit = commit_of(folder);
            if !catalog.ignored.contains(&commit) {
                plan.ignore.insert(commit.clone());
            }
            if catalog.own.contains(&commit) {
                plan.steps.push(Step::File(commit));
            }
            plan.steps.push(Step::Folder(folder.clone()));
        }
        plan
    }

    /// Ignores listed commits whose fragments were vacuumed.
    fn mending(catalog: &Catalog) -> Self {
        Self {
            ignore: catalog.vacuumed(),
            steps: Vec::new(),
        }
    }

    /// Removes these files afterwards.
    pub(super) fn then_files(mut self, files: impl IntoIterator<Item = String>) -> Self {
        self.steps.extend(files.into_iter().map(Step::File));
        self
    }

    /// Executes the plan.
    ///
    /// The ignore file is written first and stays until everything is gone, even if no list names the commits. A
    /// concurrent consolidation of commits may have read them before and may list them later.
    pub(super) async fn run(&self, array: &Array, write: &WriteOptions) -> Result<()> {
        let vfs = &array.context().vfs;
        put_ignore_file(array, &self.ignore, &mut Ids::new(write.seed)).await?;
        for step in &self.steps {
            match step {
                Step::File(path) => vfs.remove(&join(array.path(), path)).await?,
                Step::Folder(path) => vfs.remove_dir(&join(array.path(), path)).await?,
            }
        }
        if self.ignore.is_empty() {
            return Ok(());
        }
        for path in Catalog::load(array).await?.needless_ignore_files(&[]) {
            vfs.remove(&join(array.path(), &path)).await?;
        }
        Ok(())
    }
}

/// Writes a file that makes readers ignore these commits in consolidated files.
pub(super) async fn put_ignore_file(array: &Array, commits: &BTreeSet<String>, ids: &mut Ids) -> Result<()> {
    let times: Vec<(u64, u64)> = commits.iter().filter_map(|path| name::times(path)).collect();
    let (Some(first), Some(last)) = (times.iter().map(|t| t.0).min(), times.iter().map(|t| t.1).max()) else {
        return Ok(());
    };
    let name = name::versioned(first, last, ids.draw(), catalog::IGNORE_VERSION);
    let lines = commits::encode_lines(commits.iter().map(String::as_str));
    put(array, &format!("{COMMITS_DIR}/{name}.ign"), lines, true).await
}

async fn replaced_fragments(array: &Array) -> Result<RemovalPlan> {
    let catalog = Catalog::load(array).await?;
    let mut folders = BTreeSet::new();
    let mut done = Vec::new();
    for (path, replaced) in &catalog.vacuum {
        if !within(array.window(), path) || !replaces(&catalog, path) {
            continue;
        }
        folders.extend(
            replaced
                .iter()
                .filter(|f| catalog.folders.contains(*f) || catalog.own.contains(&commit_of(f)))
                .cloned(),
        );
        done.push(path.clone());
    }
    Ok(RemovalPlan::fragments(&catalog, &folders).then_files(done))
}

/// Unfinished files of crashed writers, relative to the array.
async fn leftovers(array: &Array) -> Result<Vec<String>> {
    let found = array.context().vfs.leftovers(array.path()).await?;
    let below = |path: &String| last_part(path).to_owned();
    Ok(found.iter().map(below).collect())
}

/// Whether the fragment that replaces those listed in `vacuum` is committed. Otherwise nothing may be removed.
fn replaces(catalog: &Catalog, vacuum: &str) -> bool {
    let stem = vacuum.trim_end_matches(".vac");
    let name = last_part(stem);
    catalog.is_committed(&format!("{COMMITS_DIR}/{name}.wrt")) || catalog.is_committed(&format!("{name}.ok"))
}

fn within(window: Window, path: &str) -> bool {
    name::times(path).is_some_and(|(first, last)| window.start_ms <= first && last <= window.end_ms)
}

/// Commit files whose commits are also in a consolidated file. If one consolidated file lists all commits in force,
/// also the other consolidated files and the ignore files that are no longer needed.
fn redundant_commits(catalog: &Catalog) -> RemovalPlan {
    let counts = |path: &str| !catalog.ignored.contains(path);
    let own = catalog
        .own
        .iter()
        .filter(|path| catalog.in_consolidated(path) && counts(path));
    let plan = RemovalPlan::mending(catalog).then_files(own.cloned());
    let counts = |path: &str| counts(path) && !plan.ignore.contains(path);
    let listed =
        |c: &catalog::Consolidated| -> BTreeSet<String> { c.commits.iter().map(|c| c.path.to_string()).collect() };
    let all: BTreeSet<String> = catalog
        .consolidated
        .iter()
        .flat_map(&listed)
        .filter(|path| counts(path))
        .collect();
    let complete = catalog.consolidated.iter().rev().find(|c| listed(c) == all);
    let others = complete.map_or_else(Vec::new, |complete| {
        let others = catalog.consolidated.iter().filter(|c| c.path != complete.path);
        others.map(|c| c.path.clone()).collect()
    });
    // Ignore files go last, while the files they apply to may still exist.
    let needless = catalog.needless_ignore_files(&others);
    plan.then_files(others).then_files(needless)
}

/// All but the newest file, which names every fragment of its time.
async fn old_fragment_metadata(array: &Array) -> Result<RemovalPlan> {
    let dir = super::fragment_meta_dir(array);
    let entries = array.context().vfs.list(&join(array.path(), dir)).await?;
    let files = entries
        .iter()
        .filter(|e| matches!(e.kind, EntryKind::File(_)) && e.name.ends_with(".meta"));
    let mut timed: Vec<(u64, String)> = files
        .filter_map(|e| Some((name::times(&e.name)?.1, join(dir, &e.name))))
        .collect();
    timed.sort();
    timed.pop();
    Ok(RemovalPlan::default().then_files(timed.into_iter().map(|(_, path)| path)))
}

async fn replaced_metadata(array: &Array) -> Result<RemovalPlan> {
    let vfs = &array.context().vfs;
    let entries = vfs.list(&join(array.path(), META_DIR)).await?;
    let there = |path: &str| entries.iter().any(|e| e.name == last_part(path));
    let lists = entries
        .iter()
        .filter(|e| e.name.ends_with(".vac") && within(array.window(), &e.name));
    let mut plan = RemovalPlan::default();
    for list in lists.filter(|list| there(list.name.trim_end_matches(".vac"))) {
        let path = join(META_DIR, &list.name);
        let whole = join(array.path(), &path);
        let lines = commits::decode_lines(&vfs.read_all(&whole).await?).at(&whole)?;
        let replaced = lines.iter().map(|l| join(META_DIR, last_part(l))).filter(|p| there(p));
        plan = plan.then_files(replaced).then_files([path.clone()]);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::catalog::Consolidated;
    use super::*;
    use crate::format::commits::ConsolidatedCommit;

    fn consolidated(path: &str, commits: &[&str]) -> Consolidated {
        let commit = |path: &&str| ConsolidatedCommit {
            path: (*path).to_owned().into(),
            embedded: None,
        };
        Consolidated {
            path: path.into(),
            commits: commits.iter().map(commit).collect(),
            bytes: bytes::Bytes::new(),
        }
    }

    fn files(paths: &[&str]) -> Vec<Step> {
        paths.iter().map(|p| Step::File((*p).to_owned())).collect()
    }

    #[test]
    fn commits_are_ignored_and_removed_before_fragments() {
        let catalog = Catalog {
            own: ["__commits/b.wrt".to_owned()].into(),
            folders: ["__fragments/a".to_owned(), "__fragments/b".to_owned()].into(),
            consolidated: vec![consolidated("c.con", &["__commits/a.wrt", "__commits/b.wrt"])],
            ..Catalog::default()
        };
        let plan = RemovalPlan::fragments(
            &catalog,
            &["__fragments/a".to_owned(), "__fragments/b".to_owned()].into(),
        );
        assert_eq!(plan.ignore.len(), 2);
        let steps: Vec<String> = plan.steps.into_iter().map(Step::path).collect();
        assert_eq!(steps, ["__fragments/a", "__commits/b.wrt", "__fragments/b"]);
    }

    #[test]
    fn ignore_files_stay_while_a_consolidated_file_needs_them() {
        let mut catalog = Catalog {
            own: ["__commits/a.wrt".to_owned(), "__commits/z.wrt".to_owned()].into(),
            consolidated: vec![consolidated("1.con", &["__commits/a.wrt", "__commits/gone.wrt"])],
            ignored: ["__commits/gone.wrt".to_owned()].into(),
            ignore_files: vec![("1.ign".into(), vec!["__commits/gone.wrt".into()])],
            ..Catalog::default()
        };
        assert_eq!(redundant_commits(&catalog).steps, files(&["__commits/a.wrt"]));
        catalog.consolidated.push(consolidated("2.con", &["__commits/a.wrt"]));
        assert_eq!(
            redundant_commits(&catalog).steps,
            files(&["__commits/a.wrt", "1.con", "1.ign"])
        );
    }

    #[test]
    fn nothing_is_removed_before_its_replacement_is_committed() {
        let mut catalog = Catalog::default();
        assert!(!replaces(&catalog, "__commits/__1_2_u_22.vac"));
        catalog.own.insert("__commits/__1_2_u_22.wrt".into());
        assert!(replaces(&catalog, "__commits/__1_2_u_22.vac"));
    }
}
