//! `copy`: an array, a group or a folder, file by file, from one store to another.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use hyperslab::Window;
use hyperslab::array::Group;
use hyperslab::vfs::{self, EntryKind, join};

use crate::args::Copy;
use crate::build::Building;
use crate::progress::Progress;
use crate::store::{Env, Place};

/// Bytes that are in memory at once.
const CHUNK_BYTES: u64 = 8 << 20;

/// Runs the command.
pub(crate) async fn copy(env: &Env, args: &Copy) -> Result<()> {
    let from = Place::new(&args.src)?;
    let to = Place::new(&args.dst)?;
    apart(&from, &to)?;
    let what = || format!("cannot copy {} to {}", args.src, args.dst);
    let files = files(&from).await.with_context(what)?;
    if files.is_empty() {
        bail!("{}: there is nothing to copy; check the path", args.src);
    }
    let building = Building::start(&to).await?;
    let copied = all(&from, building.place(), &files).await;
    building.end(copied.with_context(what)).await?;
    tell_of_others(env, &to).await;
    Ok(())
}

/// Says which members of a group lie elsewhere: the copy names them where they are.
async fn tell_of_others(env: &Env, copy: &Place) {
    let options = env.options(Window::ALL);
    let Ok(group) = Group::open(&copy.context, &copy.path, &options).await else {
        return;
    };
    for member in group.members.iter().filter(|m| !m.relative) {
        let (name, uri) = (member.name.as_deref().unwrap_or(&member.uri), &member.uri);
        eprintln!(
            "hyperslab: {}: its member '{name}' is not copied, it stays {uri}; copy that too, and `hyperslab group add` the copy",
            copy.url
        );
    }
}

/// Refuses a copy into what is copied, which would grow while it is read, and one over what holds it.
fn apart(from: &Place, to: &Place) -> Result<()> {
    let within = |outer: &Place, inner: &Place| match (outer.local(), inner.local()) {
        (Some(outer), Some(inner)) => real(inner).starts_with(real(outer)),
        (None, None) => vfs::path_within(&outer.url, &inner.url).is_some(),
        _ => false,
    };
    let why = match (within(from, to), within(to, from)) {
        (true, true) => "they are the same place",
        (true, false) => "the copy would lie within what is copied",
        (false, true) => "what is copied lies within the place of the copy",
        (false, false) => return Ok(()),
    };
    bail!("cannot copy {} to {}: {why}; choose another place", from.url, to.url)
}

/// Where a path leads with all links followed, as far as there is something already.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut rest = Vec::new();
    let there = path.ancestors().find_map(|ancestor| match ancestor.canonicalize() {
        Ok(real) => Some(real),
        Err(_) => {
            rest.extend(ancestor.components().next_back());
            None
        }
    });
    let mut real = there.unwrap_or_default();
    for part in rest.into_iter().rev() {
        match part {
            // What is not there yet is no link, so that what lies above it is known from its name.
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
    }
    real
}

struct File {
    path: String,
    size: u64,
    folder: bool,
}

async fn files(place: &Place) -> Result<Vec<File>> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in place.context.vfs.list(&join(&place.path, &folder)).await? {
            let path = join(&folder, &entry.name);
            match entry.kind {
                EntryKind::Dir => {
                    folders.push(path.clone());
                    found.push(File {
                        path,
                        size: 0,
                        folder: true,
                    });
                }
                EntryKind::File(Some(size)) => found.push(File {
                    path,
                    size,
                    folder: false,
                }),
                EntryKind::File(None) => {
                    let size = place.context.vfs.size(&join(&place.path, &path)).await?;
                    found.push(File {
                        path,
                        size,
                        folder: false,
                    });
                }
            }
        }
    }
    Ok(found)
}

async fn all(from: &Place, to: &Place, files: &[File]) -> Result<()> {
    let progress = Progress::new("copying", Some(files.iter().map(|f| f.size).sum()), "bytes");
    for file in files {
        let target = join(&to.path, &file.path);
        if file.folder {
            to.context.vfs.create_dir(&target).await?;
            continue;
        }
        let source = join(&from.path, &file.path);
        if file.size <= CHUNK_BYTES {
            let bytes = from.context.vfs.read_all(&source).await?;
            to.context.vfs.put(&target, vec![bytes]).await?;
        } else {
            let mut writer = to.context.vfs.create(&target).await?;
            let mut start = 0;
            while start < file.size {
                let end = file.size.min(start + CHUNK_BYTES);
                for part in from.context.vfs.read(&source, &[start..end]).await? {
                    writer.append(part).await?;
                }
                start = end;
            }
            writer.finish().await?;
        }
        progress.add(file.size);
    }
    to.context.vfs.sync(&to.path).await?;
    Ok(())
}
