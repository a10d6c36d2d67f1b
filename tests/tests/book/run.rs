//! Runs the commands of a page.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hyperslab_tests::{programs, python};

use crate::compare::matches;
use crate::page::{Block, Kind, Page};

/// The most seconds that the commands of a page may take.
const SECONDS_MAX: &str = "120";

/// Ends what the page started and did not end: background commands and mounts.
const CLEAN_UP: &str = r#"
clean_up() {
    awk -v here="$PWD/" 'index($2, here) == 1 { print $2 }' /proc/mounts | xargs -r -n1 fusermount3 -u -z
    jobs -p | xargs -r kill
}
trap clean_up EXIT
set -e
"#;

pub(crate) struct Found {
    /// The outputs of the page's blocks that were run.
    pub(crate) outputs: Vec<Option<String>>,
    pub(crate) complaints: Vec<String>,
}

/// Runs the blocks of a page, one after the other in one shell, in an empty folder.
pub(crate) fn page(page: &Page) -> Found {
    let mut found = Found {
        outputs: vec![None; page.blocks.len()],
        complaints: Vec::new(),
    };
    if page.blocks.iter().all(|b| b.kind == Kind::NotRun) {
        return found;
    }
    let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let script = script(page, files.path());
    let shell = shell(&script, folder.path()).output().unwrap();
    for (i, block) in page.blocks.iter().enumerate().filter(|(_, b)| b.kind != Kind::NotRun) {
        let read = |what: &str| std::fs::read_to_string(files.path().join(format!("{i}.{what}"))).ok();
        let output = read("output").unwrap_or_default();
        let status = read("status");
        let complain = |what: &str| format!("{}:{}: {what}", page.name, block.line);
        match status.as_deref().map(str::trim) {
            Some("0") if block.kind == Kind::Fails => {
                found
                    .complaints
                    .push(complain("the last command succeeds, but is marked `fails`"));
            }
            Some(_) => found
                .complaints
                .extend(difference(block, &output).map(|d| complain(&d))),
            None => {
                let said = String::from_utf8_lossy(&shell.stderr);
                let why = format!("a command failed or took too long ({}):\n{output}{said}", shell.status);
                found.complaints.push(complain(&why));
                return found;
            }
        }
        found.outputs[i] = Some(output);
    }
    found
}

/// A script that runs each block and writes its output and exit status to files.
fn script(page: &Page, files: &Path) -> String {
    let mut script = String::from(CLEAN_UP);
    for (i, block) in page.blocks.iter().enumerate() {
        let file = |what: &str| files.join(format!("{i}.{what}")).to_string_lossy().into_owned();
        std::fs::write(file("commands"), format!("{}\n", block.commands)).unwrap();
        let run = format!("source {} > {} 2>&1", file("commands"), file("output"));
        let status = file("status");
        let _ = match block.kind {
            Kind::Run => writeln!(script, "{run}\necho 0 > {status}"),
            Kind::Fails => writeln!(script, "set +e\n{run}\necho $? > {status}\nset -e"),
            Kind::NotRun => Ok(()),
        };
    }
    script
}

/// A shell with the programs and the sample data of the project.
fn shell(script: &str, folder: &Path) -> Command {
    let mut path: Vec<PathBuf> = vec![programs(), python().parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut shell = Command::new("timeout");
    shell
        .args(["--kill-after=5", SECONDS_MAX, "bash", "-c", script])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("HOME", folder)
        .env("DATA", super::top().join("web-demo/data"))
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .stdin(Stdio::null());
    shell
}

/// What the page shows and what the commands print, if they differ.
fn difference(block: &Block, actual: &str) -> Option<String> {
    let shown = block.output.as_ref()?;
    (!matches(&shown.text, actual)).then(|| {
        format!(
            "the output differs. The page shows:\n{}\nThe commands print:\n{}",
            shown.text,
            actual.trim_end()
        )
    })
}
