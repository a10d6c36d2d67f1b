//! Starts programs, shows their output and checks their exit status.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The result of a command. The error is one line that says what failed and what to do.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// The project's root folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder of everything built or installed.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Creates a folder, unless it exists.
///
/// # Errors
/// If it cannot be created.
pub(crate) fn made(dir: &Path) -> Outcome<PathBuf> {
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    Ok(dir.to_path_buf())
}

/// Copies what is in a folder into another one.
///
/// # Errors
/// If something cannot be copied.
pub(crate) fn copy_into(from: &Path, to: &Path) -> Outcome {
    run(command("cp").arg("-r").arg(from.join(".")).arg(to))
}

/// The time since `start`, as minutes and seconds.
pub(crate) fn elapsed(start: Instant) -> String {
    let seconds = start.elapsed().as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Whether missing tools make the run fail.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|v| !v.is_empty() && v != "0" && v != "false")
}

/// A command in the root folder, with the project's own tools first in `PATH`.
pub(crate) fn command(program: &str) -> Command {
    let mut c = Command::new(program);
    let mut path = std::ffi::OsString::from(target().join("tools/bin"));
    if let Some(old) = std::env::var_os("PATH") {
        path.push(":");
        path.push(old);
    }
    c.current_dir(root())
        .env("PATH", path)
        .env("HYPERSLAB_PYTHON", crate::setup::python());
    c
}

/// `cargo` with these arguments.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut c = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    // `cargo xtask` runs under cargo, whose package variables would make every build script run again.
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("CARGO_PKG_") || n == "CARGO_MANIFEST_DIR") {
        c.env_remove(name);
    }
    c.args(args);
    c
}

/// Runs a command to the end and shows its output.
///
/// # Errors
/// If it cannot be started or fails.
pub(crate) fn run(c: &mut Command) -> Outcome {
    let shown = show(c);
    let status = c.status().map_err(|e| format!("{shown}: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown}: {status}"))
    }
}

/// Runs a command to the end without showing its output. Returns its standard output.
///
/// # Errors
/// If it cannot be started or fails. The error contains its standard error.
pub(crate) fn quiet(c: &mut Command) -> Outcome<String> {
    let shown = show(c);
    let out = c.stdin(Stdio::null()).output().map_err(|e| format!("{shown}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    Err(format!(
        "{shown}: {}: {}",
        out.status,
        last.into_iter().rev().collect::<Vec<_>>().join(" / ")
    ))
}

/// Runs a command to the end, shows its output and returns the lines that `keep` selects.
///
/// # Errors
/// If it cannot be started or fails.
pub(crate) fn watch(c: &mut Command, keep: fn(&str) -> bool) -> (Outcome, Vec<String>) {
    let shown = show(c);
    let mut child = match c
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
    {
        Ok(child) => child,
        Err(e) => return (Err(format!("{shown}: {e}")), Vec::new()),
    };
    let kept = Arc::new(Mutex::new(Vec::new()));
    let pumps: Vec<_> = [
        child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>),
        child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>),
    ]
    .into_iter()
    .flatten()
    .map(|stream| {
        let kept = Arc::clone(&kept);
        std::thread::spawn(move || pump(stream, keep, &kept))
    })
    .collect();
    let status = child.wait();
    for pump in pumps {
        // A reader thread fails only by panicking; then keep the lines so far.
        drop(pump.join());
    }
    let lines = kept.lock().map(|k| k.clone()).unwrap_or_default();
    let outcome = match status {
        Ok(s) if s.success() => Ok(()),
        Ok(s) => Err(format!("{shown}: {s}")),
        Err(e) => Err(format!("{shown}: {e}")),
    };
    (outcome, lines)
}

fn pump(stream: Box<dyn Read + Send>, keep: fn(&str) -> bool, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut raw = Vec::new();
    while reader.read_until(b'\n', &mut raw).is_ok_and(|n| n > 0) {
        let line = String::from_utf8_lossy(&raw).trim_end().to_owned();
        let mut out = std::io::stdout().lock();
        // A closed terminal must not end the run.
        let _ = writeln!(out, "{line}");
        if keep(&line)
            && let Ok(mut kept) = kept.lock()
        {
            kept.push(line);
        }
        raw.clear();
    }
}

fn show(c: &Command) -> String {
    let mut words = vec![
        Path::new(c.get_program())
            .file_name()
            .unwrap_or(c.get_program())
            .to_string_lossy()
            .into_owned(),
    ];
    words.extend(c.get_args().map(|a| a.to_string_lossy().into_owned()));
    words.join(" ")
}
