//! `fuse-mount -u`: unmounts, or says which processes prevent it.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use hyperslab::internals::printable;
use rustix::mount::UnmountFlags;

use crate::holders::{Holder, holders};
use crate::mount::{TYPE, absolute};
use crate::mount_table;

/// The most processes that an error lists.
const LISTED_MAX: usize = 10;

/// Unmounts the mount of this program at `place`. If `lazy` is set, also if it is in use: the mount disappears, and its
/// program ends when the last file is closed.
///
/// # Errors
/// `place` is not a mount of this program, or it is in use, or the user may not unmount it.
pub fn unmount(place: &Path, lazy: bool) -> Result<()> {
    let full = absolute(place)?;
    check(&full)?;
    // This process must not use the mount itself.
    std::env::set_current_dir("/")?;
    let Err(error) = detach(&full, lazy) else {
        return Ok(());
    };
    let holders = holders(&full);
    if holders.is_empty() && error.kind() != io::ErrorKind::ResourceBusy {
        return Err(error).with_context(|| format!("cannot unmount {}", full.display()));
    }
    bail!("cannot unmount {}", busy(&full, &holders));
}

/// Fails unless `place` is a mount of this program.
fn check(place: &Path) -> Result<()> {
    let shown = place.display();
    match mount_table::at(place)? {
        Some(entry) if entry.kind == TYPE => Ok(()),
        Some(entry) => bail!(
            "cannot unmount {shown}: it is a mount of the type {}, not of fuse-mount; run `umount {shown}`",
            entry.kind
        ),
        None => {
            let mut mounts = mount_table::read()?;
            mounts.retain(|entry| entry.kind == TYPE);
            let Some(outer) = mounts.iter().find(|entry| place.starts_with(&entry.place)) else {
                bail!("cannot unmount {shown}: nothing is mounted there; `findmnt --types {TYPE}` lists the mounts");
            };
            let outer = outer.place.display();
            bail!("cannot unmount {shown}: it is a folder inside a mount; run `fuse-mount -u {outer}`")
        }
    }
}

/// The part of the error after "cannot unmount".
fn busy(place: &Path, holders: &[Holder]) -> String {
    let lines: Vec<String> = holders
        .iter()
        .take(LISTED_MAX)
        .map(|holder| printable(&holder.to_string(), &[]).into_owned())
        .collect();
    let others = match holders.len().saturating_sub(LISTED_MAX) {
        _ if holders.is_empty() => "processes of other users or mounts inside it".to_owned(),
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    let shown = place.display();
    format!(
        "{shown}: it is in use by {}{others}; end these, or run `fuse-mount -u -z {shown}` to unmount it anyway",
        lines.join(", ")
    )
}

fn detach(place: &Path, lazy: bool) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        let flags = if lazy {
            UnmountFlags::DETACH
        } else {
            UnmountFlags::empty()
        };
        return Ok(rustix::mount::unmount(place, flags | UnmountFlags::NOFOLLOW)?);
    }
    let mut helper = Command::new("fusermount3");
    helper.arg("-u").args(lazy.then_some("-z")).arg("--").arg(place);
    let output = helper.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}
