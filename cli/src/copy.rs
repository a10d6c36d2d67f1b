//! `copy`: an array, a group or a folder, file by file, from one store to another.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use hyperslab::group::{Group, GroupChange, GroupMember, Member, MemberKind, ObjectType, change_group};
use hyperslab::vfs::{VfsExt, Walked, join, redact};
use hyperslab::{Window, WriteOptions, vfs};
use serde_json::{Value, json};

use crate::args::Copy;
use crate::build::Building;
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::{show, sizes, time_args};

/// Bytes that are copied at a time.
const CHUNK_BYTES: u64 = 8 << 20;

/// Runs the command.
pub(crate) async fn copy(env: &Env, args: &Copy) -> Result<()> {
    let from = Place::new(&args.src)?;
    let to = Place::new(&args.dst)?;
    apart(&from, &to)?;
    if from.local().is_some_and(Path::is_file) {
        bail!(
            "cannot copy {}: it is a file, not an array, a group or a folder; use `cp` for files",
            args.src
        );
    }
    let what = || format!("cannot copy {} to {}", args.src, args.dst);
    let files = vfs::walk(&*from.context.vfs, &from.path, |_| false)
        .await
        .with_context(what)?;
    if files.is_empty() {
        bail!("cannot copy {}: there is nothing to copy; check the path", args.src);
    }
    let bytes = sizes::total(files.iter().filter_map(|f| f.size));
    if args.dry_run {
        return list(args, &files, bytes);
    }
    let building = Building::start(&to).await?;
    let copied = async {
        all(&from, building.place(), &files).await?;
        groups(env, &from, building.place(), &to, &files).await
    };
    let copied = copied.await.with_context(what);
    building.end(copied).await?;
    if args.json {
        show::line(format_args!("{:#}", as_json(args, &files, bytes)))?;
    }
    Ok(())
}

/// Prints the files that would be copied.
fn list(args: &Copy, files: &[Walked], bytes: u64) -> Result<()> {
    let mut names: Vec<&Walked> = files.iter().filter(|f| f.size.is_some()).collect();
    names.sort_by(|a, b| a.path.cmp(&b.path));
    if args.json {
        let mut json = as_json(args, files, bytes);
        json["dry_run"] = true.into();
        json["paths"] = names.iter().map(|f| f.path.as_str()).collect();
        return show::line(format_args!("{json:#}"));
    }
    for file in &names {
        show::line(&file.path)?;
    }
    let (count, bytes) = (show::count(names.len() as u64, "file"), sizes::show(bytes));
    show::line(format_args!("{}: {count}, {bytes} would be copied", redact(&args.src)))
}

fn as_json(args: &Copy, files: &[Walked], bytes: u64) -> Value {
    let count = files.iter().filter(|f| f.size.is_some()).count();
    json!({"source": redact(&args.src), "destination": redact(&args.dst), "files": count, "bytes": bytes})
}

/// Points the members of copied groups to the copies. Members outside the source keep their URI, with a message for
/// each.
pub(crate) async fn groups(env: &Env, from: &Place, made: &Place, to: &Place, files: &[Walked]) -> Result<()> {
    for folder in files.iter().filter(|f| f.size.is_none()) {
        let Some(group) = folder
            .path
            .strip_suffix("__group")
            .filter(|g| g.is_empty() || g.ends_with('/'))
        else {
            continue;
        };
        let group = group.trim_end_matches('/');
        let path = join(&made.path, group);
        // A group that cannot be opened, such as an encrypted one without its key, is copied unchanged.
        let Ok(opened) = Group::open(&made.context, &path, &env.options(Window::ALL)).await else {
            continue;
        };
        let mut changes = Vec::new();
        for member in opened.members.iter().filter(|m| !m.relative) {
            let at = Place::new(&member.uri).map_or_else(|_| member.uri.clone(), |at| at.location());
            match vfs::path_within(&from.location(), &at) {
                Some(inside) => changes.extend(moved(member, &inside, group, to)),
                None => warn_not_copied(&to.join(group), member),
            }
        }
        if !changes.is_empty() {
            let options = WriteOptions {
                timestamp_ms: time_args::or_now(None)?,
                seed: seed()?,
                sync: true,
            };
            change_group(&made.context, &path, &changes, env.key.as_ref(), &options).await?;
        }
    }
    Ok(())
}

/// The changes that point a member to its copy, which is at the path `inside` the destination. The new URI is relative
/// if the copy is in the group's folder.
fn moved(member: &Member, inside: &str, group: &str, to: &Place) -> Vec<GroupChange> {
    let kind = match member.kind {
        Some(ObjectType::Array) => MemberKind::Array,
        Some(ObjectType::Group) => MemberKind::Group,
        None => MemberKind::Unknown,
    };
    let below = vfs::path_within(&format!("/{group}"), &format!("/{inside}")).filter(|below| !below.is_empty());
    let relative = below.is_some();
    let added = GroupMember {
        kind,
        relative,
        uri: below.unwrap_or_else(|| to.join(inside).location()),
        name: member.name.clone(),
        deleted: false,
    };
    let replaced = match &member.name {
        Some(_) => None,
        None => Some(GroupChange::Remove(member.uri.clone())),
    };
    replaced.into_iter().chain([GroupChange::Add(added)]).collect()
}

/// Prints that a member was not copied, because it is outside the source.
fn warn_not_copied(group: &Place, member: &Member) {
    let (name, uri) = (member.name.as_deref().unwrap_or(&member.uri), &member.uri);
    show::warning(format_args!(
        "{}: member '{name}' was not copied and still refers to {uri}; copy it too, and add the copy with \
         `hyperslab group add`",
        group.url.trim_end_matches('/')
    ));
}

/// Returns an error if the source and the destination are the same or if one contains the other.
pub(crate) fn apart(from: &Place, to: &Place) -> Result<()> {
    let within = |outer: &Place, inner: &Place| match (outer.local(), inner.local()) {
        (Some(outer), Some(inner)) => real(inner).starts_with(real(outer)),
        (None, None) => vfs::path_within(&outer.url, &inner.url).is_some(),
        _ => false,
    };
    let why = match (within(from, to), within(to, from)) {
        (true, true) => "they are the same",
        (true, false) => "the destination is inside the source",
        (false, true) => "the source is inside the destination",
        (false, false) => return Ok(()),
    };
    bail!(
        "cannot copy {} to {}: {why}; choose another destination",
        from.url,
        to.url
    )
}

/// Resolves all links in the existing part of a path.
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
            // Parts that do not exist are not links, so `..` removes the part before it.
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
    }
    real
}

/// Copies files and folders, which [`vfs::walk`] found at `from`.
pub(crate) async fn all(from: &Place, to: &Place, files: &[Walked]) -> Result<()> {
    let progress = Progress::new(
        "copying",
        Some(sizes::total(files.iter().filter_map(|f| f.size))),
        "bytes",
    );
    for file in files {
        let target = join(&to.path, &file.path);
        let Some(size) = file.size else {
            to.context.vfs.create_dir(&target).await?;
            continue;
        };
        let source = join(&from.path, &file.path);
        if size <= CHUNK_BYTES {
            let bytes = from.context.vfs.read_all(&source).await?;
            to.context.vfs.put(&target, vec![bytes]).await?;
        } else {
            let mut writer = to.context.vfs.create(&target).await?;
            let mut start = 0;
            while start < size {
                let end = size.min(start + CHUNK_BYTES);
                for part in from.context.vfs.read(&source, &[start..end]).await? {
                    writer.append(part).await?;
                }
                start = end;
            }
            writer.finish().await?;
        }
        progress.add(size);
    }
    to.context.vfs.sync(&to.path).await?;
    Ok(())
}
