//! Mounts and unmounts a file system.
//!
//! The current release of `fuser` cannot do this: it unmounts file systems that are not its own, and cannot unmount a
//! busy one. It also does not set the type `fuse.fuse-mount`, which tools such as `updatedb` use.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::fs::FileType;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType};

use crate::mount_table;

/// The type shown by `mount` and `/proc/mounts`.
pub(crate) const TYPE: &str = "fuse.fuse-mount";

/// A mount of this program.
#[derive(Debug)]
pub struct Mount {
    place: PathBuf,
    /// The device number, which distinguishes this mount from later mounts at the same place.
    device: String,
}

/// Checks the mount point, unmounts a disconnected mount of this program there, and returns its absolute path. `source`
/// is the path of a local source.
///
/// # Errors
/// The mount point is not an empty folder, or it overlaps with the source.
pub fn prepare(place: &Path, source: Option<&Path>) -> Result<PathBuf> {
    // The kernel may answer `stat` on a disconnected mount from its cache.
    let there = std::fs::read_dir(place).map(drop);
    if there.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        bail!(
            "cannot mount at {}: it does not exist; create the folder first",
            place.display()
        );
    }
    if there.is_err_and(|e| e.raw_os_error() == Some(rustix::io::Errno::NOTCONN.raw_os_error())) {
        let full = absolute(place)?;
        if device(&full)?.is_none() {
            bail!(
                "cannot mount at {}: it is a disconnected mount of another program; run `umount` first",
                place.display()
            );
        }
        detach(&full)
            .with_context(|| format!("{} is a disconnected mount that cannot be unmounted", place.display()))?;
    }
    let full = place
        .canonicalize()
        .with_context(|| format!("cannot mount at {}", place.display()))?;
    let mut names = std::fs::read_dir(&full).with_context(|| format!("cannot mount at {}", place.display()))?;
    if names.next().is_some() {
        bail!(
            "cannot mount at {}: it is not empty, and the mount would hide its contents; choose an empty folder",
            place.display()
        );
    }
    if let Some(source) = source.and_then(|s| s.canonicalize().ok())
        && (source.starts_with(&full) || full.starts_with(&source))
    {
        bail!(
            "cannot mount at {}: it overlaps with {}; choose a mount point outside the source",
            full.display(),
            source.display()
        );
    }
    Ok(full)
}

/// The facts about a mount for the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The source in `mount` and `df`.
    pub name: &'a str,
    /// Whether other users may use the mount.
    pub allow_other: bool,
    /// Whether the mount takes writes.
    pub writable: bool,
}

impl Mount {
    /// Mounts at `place` and returns the file descriptor for the kernel's requests.
    ///
    /// # Errors
    /// The kernel or the helper program `fusermount3` does not let this user mount there.
    pub fn new(place: &Path, shown: &Shown<'_>) -> Result<(Self, OwnedFd)> {
        let fd = if rustix::process::geteuid().is_root() {
            direct(place, shown)?
        } else {
            helped(place, shown)?
        };
        let device = device(place)?.context("mounting succeeded, but the mount does not exist")?;
        Ok((
            Self {
                place: place.to_owned(),
                device,
            },
            fd,
        ))
    }

    /// Sets the kernel's read-ahead in bytes, if permitted.
    pub fn set_readahead(&self, bytes: u64) {
        let file = format!("/sys/class/bdi/{}/read_ahead_kb", self.device);
        // Ignored, because it affects performance only.
        let _ = std::fs::write(file, (bytes >> 10).to_string());
    }

    /// Unmounts the file system if it is still mounted. Open files stay readable while this program runs.
    ///
    /// # Errors
    /// Errors of the kernel or the helper program.
    pub fn unmount(&self) -> io::Result<()> {
        if device(&self.place)?.as_deref() == Some(self.device.as_str()) {
            detach(&self.place)
        } else {
            Ok(())
        }
    }
}

fn direct(place: &Path, shown: &Shown<'_>) -> Result<OwnedFd> {
    let file = File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .context("cannot open /dev/fuse; load the kernel's fuse module with `modprobe fuse`")?;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mode = FileType::Directory.as_raw_mode();
    let other = if shown.allow_other { ",allow_other" } else { "" };
    let options = format!(
        "fd={},rootmode={mode:o},user_id={user},group_id={group},default_permissions{other}",
        file.as_raw_fd()
    );
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
    flags.set(MountFlags::RDONLY, !shown.writable);
    let options = CString::new(options)?;
    rustix::mount::mount(shown.name, place, TYPE, flags, options.as_c_str())
        .with_context(|| format!("cannot mount at {}", place.display()))?;
    Ok(file.into())
}

/// Mounts with the setuid helper `fusermount3`, which sends the file descriptor over a socket.
fn helped(place: &Path, shown: &Shown<'_>) -> Result<OwnedFd> {
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    // Escaped, because options are separated by commas.
    let name = shown.name.replace('\\', "\\\\").replace(',', "\\,");
    let other = if shown.allow_other { ",allow_other" } else { "" };
    let access = if shown.writable { "rw" } else { "ro" };
    let options =
        format!("{access},nosuid,nodev,noexec,noatime,default_permissions,fsname={name},subtype=fuse-mount{other}");
    let mut helper = Command::new("fusermount3");
    helper
        .arg("-o")
        .arg(options)
        .arg("--")
        .arg(place)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string());
    let mut child = helper
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start fusermount3; install fuse3, or run as root")?;
    drop(theirs);
    let fd = receive(&ours);
    let status = child.wait()?;
    match fd? {
        Some(fd) if status.success() => Ok(fd),
        _ => bail!(
            "cannot mount at {}: fusermount3 failed; its message above says why",
            place.display()
        ),
    }
}

/// Receives a file descriptor over a socket; `None` if the other side closed it.
fn receive(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok(rights.next().and_then(|mut fds| fds.next()))
}

fn detach(place: &Path) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(rustix::mount::unmount(place, UnmountFlags::DETACH)?);
    }
    let status = Command::new("fusermount3")
        .args(["-u", "-z", "-q", "--"])
        .arg(place)
        .stdin(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("fusermount3 -u failed with {status}")))
    }
}

/// The device number of the topmost mount at `place`, if it has this program's type.
fn device(place: &Path) -> io::Result<Option<String>> {
    Ok(mount_table::at(place)?
        .filter(|entry| entry.kind == TYPE)
        .map(|entry| entry.device))
}

/// The absolute path of a mount point. A disconnected mount cannot be canonicalized, but its parent can.
///
/// # Errors
/// The parent does not exist.
pub(crate) fn absolute(place: &Path) -> Result<PathBuf> {
    if let Ok(full) = place.canonicalize() {
        return Ok(full);
    }
    let parent = place
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let parent = parent
        .canonicalize()
        .with_context(|| format!("cannot find {}", parent.display()))?;
    Ok(place
        .file_name()
        .map_or_else(|| parent.clone(), |name| parent.join(name)))
}
