//! `verify` and `index`.

use std::fmt::{self, Display, Formatter};

use anyhow::{Context as _, Result};
use hyperslab::internals::Report;
use hyperslab::vfs::{join_url, manifest, redact};
use hyperslab::{Error, Finding};
use serde_json::json;

use crate::args::{Index, Verify};
use crate::errors::Reported;
use crate::for_each_array::{for_each, for_each_array};
use crate::progress::Progress;
use crate::store::{Env, Place};
use crate::{show, sizes, time_args};

/// Reads every tile, and reports all damage and the tiles without checksums.
pub(crate) async fn verify(env: &Env, args: &Verify) -> Result<()> {
    for_each(&args.arrays, async |path| {
        for_each_array(env, path, async |target| verify_one(env, &target.url, args).await).await
    })
    .await
}

async fn verify_one(env: &Env, url: &str, args: &Verify) -> Result<()> {
    let (array, unopened) = env.open_to_verify(url, time_args::all(args.at)).await?;
    let (mut files, mut tiles, mut bytes) = (0_u64, 0_u64, 0_u64);
    let mut failures = Failures::default();
    let mut unchecked = Unchecked::default();
    let progress = Progress::new(
        "verifying",
        Some(sizes::total(array.fragments().iter().map(|f| f.bytes))),
        "bytes",
    );
    let say = |error: &Error, failures: &mut Failures| {
        failures.add(error);
        if !args.json {
            progress.say(&Report::new(error).coloured());
        }
    };
    for error in &unopened {
        files += 1;
        say(error, &mut failures);
    }
    let mut report = |finding: Finding| {
        files += 1;
        tiles = tiles.saturating_add(finding.tiles);
        bytes = bytes.saturating_add(finding.bytes);
        progress.add(finding.bytes);
        unchecked.add(&finding);
        if let Some(error) = &finding.error {
            say(error, &mut failures);
        }
    };
    array
        .verify(&mut report)
        .await
        .with_context(|| format!("cannot verify {url}"))?;
    drop(progress);
    let fragments = array.fragments().len();
    if args.json {
        let tiles_without = json!({"tiles": unchecked.tiles, "names": unchecked.names});
        let seen = json!({"fragments": fragments, "files": files, "tiles": tiles, "bytes": bytes});
        let found =
            json!({"array": redact(url), "errors": failures.errors, "read": seen, "without_checksum": tiles_without});
        show::line(format_args!("{found:#}"))?;
    }
    let (files, tiles) = (show::count(files, "file"), show::count(tiles, "tile"));
    let seen = format!("{files}, {tiles}, {} read", sizes::show(bytes));
    if let Some(failures) = failures.summary(&seen) {
        return Err(Reported(format!("cannot verify {url}: {failures}")).into());
    }
    if args.json {
        return Ok(());
    }
    let fragments = show::count(fragments as u64, "fragment");
    show::line(format_args!(
        "{}: {} ({fragments}, {seen}){unchecked}",
        redact(url),
        unchecked.verdict()
    ))
}

/// The files with damage, and those that this user may not read.
#[derive(Default)]
struct Failures {
    /// Each error in one line.
    errors: Vec<String>,
    damaged: u64,
    forbidden: u64,
}

impl Failures {
    fn add(&mut self, error: &Error) {
        self.errors.push(Report::new(error).sentence());
        let kind = match error {
            Error::Io { source, .. } => source.downcast_ref::<std::io::Error>().map(std::io::Error::kind),
            _ => None,
        };
        if kind == Some(std::io::ErrorKind::PermissionDenied) {
            self.forbidden += 1;
        } else {
            self.damaged += 1;
        }
    }

    /// The number of failures among the files `seen`, with advice; `None` without failures.
    fn summary(&self, seen: &str) -> Option<String> {
        const RESTORE: &str = "restore the files named above from a backup, or follow the advice in their lines";
        const PERMIT: &str = "run `verify` as a user who has permission to read the files named above";
        match (self.damaged, self.forbidden) {
            (0, 0) => None,
            (damaged, 0) => Some(format!("{damaged} damaged of {seen}; {RESTORE}")),
            (0, n) => Some(format!("no permission to read {n} of {seen}; {PERMIT}")),
            (damaged, n) => Some(format!(
                "{damaged} damaged and no permission to read {n} of {seen}; {PERMIT}, then {RESTORE}"
            )),
        }
    }
}

/// Tiles whose bytes have no checksum.
#[derive(Default)]
struct Unchecked {
    tiles: u64,
    /// The names of their contents, each once.
    names: Vec<String>,
}

impl Unchecked {
    fn add(&mut self, finding: &Finding) {
        let Some(name) = finding.without_checksum.as_ref().filter(|_| finding.tiles > 0) else {
            return;
        };
        self.tiles = self.tiles.saturating_add(finding.tiles);
        if !self.names.contains(name) {
            self.names.push(name.clone());
        }
    }

    /// The verdict on an array without damaged files.
    const fn verdict(&self) -> &'static str {
        if self.tiles == 0 { "sound" } else { "no damage found" }
    }
}

impl Display for Unchecked {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.tiles == 0 {
            return Ok(());
        }
        let names: Vec<String> = self.names.iter().map(|name| show::shorten(name, 80)).collect();
        let (has, its) = if self.tiles == 1 {
            ("has", "it")
        } else {
            ("have", "them")
        };
        write!(
            f,
            "; {} {has} no checksum, so damage to {its} may go unnoticed: {}. For checksums, add the filter sha256 to \
             these in the output of `hyperslab schema`, create a new array from it, and write the cells to that",
            show::count(self.tiles, "tile"),
            names.join(", ")
        )
    }
}

/// Writes the manifest.
pub(crate) async fn index(args: &Index) -> Result<()> {
    let place = Place::new(&args.array)?;
    manifest::write(place.context.vfs.as_ref(), &place.path)
        .await
        .with_context(|| format!("cannot index {}", args.array))?;
    let url = join_url(&args.array, manifest::MANIFEST);
    if args.json {
        return show::line(format_args!("{:#}", json!({"manifest": redact(&url)})));
    }
    show::line(redact(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_permission_are_not_called_damaged() {
        let mut failures = Failures::default();
        assert_eq!(failures.summary("2 files"), None);
        let io = |kind: std::io::ErrorKind| Error::io("a", std::io::Error::from(kind));
        failures.add(&io(std::io::ErrorKind::PermissionDenied));
        let summary = failures.summary("2 files").unwrap();
        assert!(summary.contains("permission to read 1 of 2 files"), "{summary}");
        assert!(
            !summary.contains("restore") && !summary.contains("damaged"),
            "{summary}"
        );
        failures.add(&io(std::io::ErrorKind::UnexpectedEof));
        let summary = failures.summary("2 files").unwrap();
        assert!(summary.contains("1 damaged and no permission to read 1"), "{summary}");
    }
}
