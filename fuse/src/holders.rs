//! The processes that use a mount.

use std::path::{Path, PathBuf};

/// A process, and the path inside the mount that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The process number.
    pub(crate) pid: u32,
    /// The name of its program.
    pub(crate) command: String,
    /// How it uses the path: `open file`, `working folder`, `root folder`, `program` or `mapped file`.
    pub(crate) usage: &'static str,
    /// The first path found.
    pub(crate) path: PathBuf,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (command, path) = (&self.command, self.path.display());
        write!(f, "{} {command} ({} {path})", self.pid, self.usage)
    }
}

/// The processes that use files or folders at or below `place`, by number. Only looks at `/proc`, so a mount that does
/// not respond cannot block it. Processes of other users are only visible to root.
pub(crate) fn holders(place: &Path) -> Vec<Holder> {
    let pids = entries(Path::new("/proc"));
    let mut found: Vec<_> = pids
        .iter()
        .filter_map(|pid| Some((pid, pid.file_name()?.to_str()?.parse().ok()?)))
        .filter_map(|(folder, pid)| holder(folder, pid, place))
        .collect();
    found.sort_by_key(|holder| holder.pid);
    found
}

fn holder(process: &Path, pid: u32, place: &Path) -> Option<Holder> {
    let links = [("cwd", "working folder"), ("root", "root folder"), ("exe", "program")];
    let one = links.iter().map(|(name, usage)| (process.join(name), *usage));
    let files = entries(&process.join("fd")).into_iter().map(|fd| (fd, "open file"));
    let maps = entries(&process.join("map_files"))
        .into_iter()
        .map(|map| (map, "mapped file"));
    let (path, usage) = one.chain(files).chain(maps).find_map(|(link, usage)| {
        let path = std::fs::read_link(link).ok().filter(|path| path.starts_with(place))?;
        Some((path, usage))
    })?;
    let command = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
    Some(Holder {
        pid,
        command: command.trim_end().to_owned(),
        usage,
        path,
    })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten();
    all.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_by_their_open_files() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let path = place.join("file");
        assert_eq!(holders(&place), []);
        let file = std::fs::File::create(&path).unwrap();
        let found = holders(&place);
        drop(file);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].pid, found[0].usage, &found[0].path),
            (std::process::id(), "open file", &path)
        );
        assert_eq!(holders(&place), []);
    }
}
