//! Opens the source of a mount.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyperslab::blocking::block_on;
use hyperslab::internals::{calendar, coloured_message};
use hyperslab::view::{Source, parse_time};
use hyperslab::{Array, Cache, Key, OpenOptions, Window};

use crate::args::Args;
use crate::filesystem::FileSystem;
use crate::logging::print;

/// Opens the source that the arguments name.
///
/// # Errors
/// The source, its key or the time cannot be read.
pub fn open(args: &Args) -> Result<FileSystem> {
    let window = match &args.options.at {
        Some(time) => Window::at(parse_time(time).context("invalid value for --at")?),
        None => Window::ALL,
    };
    let key = args.options.key_file.as_deref().map(key).transpose()?;
    let cannot = || format!("cannot mount {}", args.source);
    let mut source = Source::at_url(&args.source, OpenOptions { window, key }).with_context(cannot)?;
    // Half is for what is kept, and half for files that are being made.
    let share = args.options.cache_size / 2;
    source.context.cache = Arc::new(Cache::keeping_tiles(share));
    if args.options.at.is_some() {
        warn_if_nothing_was_written(&source);
    }
    let writing = &args.options.writing;
    writing.check(&args.source, args.options.at.is_some())?;
    let files = FileSystem::new(source, args.options.ttl).with_context(cannot)?;
    Ok(writing.apply(files.with_memory(share).with_list_max(args.options.list_max)))
}

/// Warns if the source is an array that was first written after the time of the mount. Such a mount looks like that of an
/// array without cells.
fn warn_if_nothing_was_written(source: &Source) {
    let opened = block_on(async {
        let array = Array::open(&source.context, &source.path, &source.options).await?;
        let later = array.at(Window::ALL).await?.times();
        Ok::<_, hyperslab::Error>(later.first().copied().filter(|_| array.times().is_empty()))
    });
    // A folder or a group is no array, and the mount reports other errors itself.
    if let Ok(Some(first_ms)) = opened {
        let time = calendar::format_milliseconds(first_ms);
        let why = format!(
            "nothing was written to this array until the time of --at, so the mount shows no cells; the first write is of \
             {time}"
        );
        print(&coloured_message("warning", &why));
    }
}

/// Reads a key file.
fn key(file: &Path) -> Result<Key> {
    let shown = file.display();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read the key in {shown}"))?;
    let key = Key::parse(&bytes).with_context(|| {
        format!("invalid value for --key-file: {shown} does not contain a key; a key is 32 bytes or 64 hex digits")
    })?;
    if hyperslab::internals::vfs::readable_by_everyone(file) {
        let why = format!("every user of this machine can read the key in {shown}; run `chmod 600 {shown}`");
        print(&coloured_message("warning", &why));
    }
    Ok(key)
}
