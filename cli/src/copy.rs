//! `copy`: an array, a group or a folder, file by file, from one store to another.

use anyhow::{Context as _, Result, bail};
use hyperslab::vfs::{EntryKind, join};

use crate::args::Copy;
use crate::build::Building;
use crate::progress::Progress;
use crate::store::Place;

/// Bytes that are in memory at once.
const CHUNK_BYTES: u64 = 8 << 20;

/// Runs the command.
pub(crate) async fn copy(args: &Copy) -> Result<()> {
    let from = Place::new(&args.src)?;
    let what = || format!("cannot copy {} to {}", args.src, args.dst);
    let files = files(&from).await.with_context(what)?;
    if files.is_empty() {
        bail!("{}: there is nothing to copy; check the path", args.src);
    }
    let building = Building::start(&Place::new(&args.dst)?).await?;
    let copied = all(&from, building.place(), &files).await;
    building.end(copied.with_context(what)).await
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
