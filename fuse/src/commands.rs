//! Commands that a user writes into `.hyperslab/run`: consolidation and vacuum.

use hyperslab::blocking::block_on;
use hyperslab::maintain::Mode;
use hyperslab_cli::changes;

use crate::errno::{FsError, Refusal};
use crate::filesystem::FileSystem;

/// The contents of the file before a command has run.
pub(crate) const HELP: &str = "\
Write a command into this file. It has ended when the write returns.

consolidate PATH               merge the fragments of an array
consolidate --mode MODE PATH   merge other files: fragment-meta, commits or array-meta
vacuum PATH                    remove fragments that were merged
vacuum --mode MODE PATH        remove other files that were merged

PATH is the path of the array in the mount. The write cannot be interrupted, so use the program hyperslab for large arrays.
";

/// The kinds of files, by the names that `hyperslab consolidate --mode` has for them.
const MODES: [(&str, Mode); 4] = [
    ("fragments", Mode::Fragments),
    ("fragment-meta", Mode::FragmentMetadata),
    ("commits", Mode::Commits),
    ("array-meta", Mode::ArrayMetadata),
];

#[derive(Debug, PartialEq, Eq)]
enum Action {
    Consolidate,
    Vacuum,
}

/// An action, the files it is about, and the path of an array.
#[derive(Debug)]
struct Command<'a> {
    action: Action,
    mode: Mode,
    path: &'a str,
}

/// Runs a command, and returns its result as lines.
pub(crate) fn run(text: &str, files: &FileSystem) -> Result<String, FsError> {
    let command = parse(text)?;
    let array = files.array_to_change(command.path)?;
    let done = match command.action {
        Action::Consolidate => block_on(changes::consolidate(&array, command.mode)),
        Action::Vacuum => block_on(changes::vacuum(&array, command.mode)),
    };
    files.show_changes();
    let names = done.map_err(|e| Refusal::of_write(&e))?;
    if names.is_empty() {
        return Ok("nothing to do\n".into());
    }
    Ok(names.into_iter().map(|name| name + "\n").collect())
}

fn parse(text: &str) -> Result<Command<'_>, FsError> {
    let unknown = || {
        let why = format!("unknown command '{}'; read this file for the commands", text.trim());
        FsError::from(Refusal::invalid(why))
    };
    let (name, rest) = text.trim().split_once(' ').ok_or_else(unknown)?;
    let action = match name {
        "consolidate" => Action::Consolidate,
        "vacuum" => Action::Vacuum,
        _ => return Err(unknown()),
    };
    let rest = rest.trim_start();
    let (mode, path) = match rest.strip_prefix("--mode ") {
        None => ("fragments", rest),
        Some(rest) => rest.trim_start().split_once(' ').ok_or_else(unknown)?,
    };
    let found = MODES.iter().find(|(name, _)| *name == mode);
    let (_, mode) = found.ok_or_else(|| {
        let names = MODES.map(|(name, _)| name).join(", ");
        FsError::from(Refusal::invalid(format!("unknown mode '{mode}'; use one of {names}")))
    })?;
    let path = path.trim().trim_matches('/');
    let path = if path == "." { "" } else { path };
    let mode = *mode;
    Ok(Command { action, mode, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_an_action_files_and_a_path() {
        let of = |text| parse(text).map(|c| (c.action, c.mode, c.path.to_owned()));
        let done = of("consolidate a b/c\n").unwrap();
        assert_eq!(done, (Action::Consolidate, Mode::Fragments, "a b/c".into()));
        let done = of("vacuum --mode commits /x").unwrap();
        assert_eq!(done, (Action::Vacuum, Mode::Commits, "x".into()));
        assert_eq!(of("vacuum .").unwrap().2, "");
        for (text, why) in [
            ("drop x", "unknown command"),
            ("vacuum", "unknown command"),
            ("vacuum --mode all x", "fragment-meta"),
        ] {
            let refusal = of(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}
