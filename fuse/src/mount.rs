//! Attaching a file system to a folder, and taking it off again.
//!
//! This is done here rather than by the protocol library, which in the release used takes mounts off
//! that are not its own, cannot take a busy one off, and does not name the type `fuse.fuse-mount`
//! that tools such as `updatedb` go by.

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

/// The type that `mount` and `/proc/mounts` show.
const TYPE: &str = "fuse.fuse-mount";
const MOUNTINFO: &str = "/proc/self/mountinfo";

/// A mount of ours.
#[derive(Debug)]
pub struct Mount {
    place: PathBuf,
    /// The device that the kernel gave it, which tells it from whatever may be mounted there later.
    device: String,
}

/// Checks that something can be mounted at `place`, after taking a dead mount of ours off it, and
/// gives its full path. `source` is the folder to be shown, if it is a local one.
///
/// # Errors
/// It is no empty folder, or it and the source lie within each other.
pub fn prepare(place: &Path, source: Option<&Path>) -> Result<PathBuf> {
    // Not `stat`, which the kernel may answer from what it remembers of a dead mount.
    let there = std::fs::read_dir(place).map(drop);
    if there.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        bail!("{} does not exist; make the folder first", place.display());
    }
    if there.is_err_and(|e| e.raw_os_error() == Some(rustix::io::Errno::NOTCONN.raw_os_error())) {
        // The full path of a dead mount cannot be found out through it.
        let parent = place
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let parent = parent
            .canonicalize()
            .with_context(|| format!("cannot find {}", parent.display()))?;
        let full = place
            .file_name()
            .map_or_else(|| parent.clone(), |name| parent.join(name));
        if device(&full)?.is_none() {
            bail!(
                "{} is a dead mount of another program; take it off with umount first",
                place.display()
            );
        }
        detach(&full).with_context(|| format!("{} is a dead mount that cannot be taken off", place.display()))?;
    }
    let full = place
        .canonicalize()
        .with_context(|| format!("cannot mount at {}", place.display()))?;
    let mut names = std::fs::read_dir(&full).with_context(|| format!("cannot mount at {}", place.display()))?;
    if names.next().is_some() {
        bail!(
            "{} is not empty; what is in it would be hidden. Choose an empty folder",
            place.display()
        );
    }
    if let Some(source) = source.and_then(|s| s.canonicalize().ok())
        && (source.starts_with(&full) || full.starts_with(&source))
    {
        bail!(
            "{} and {} lie within each other; mount somewhere else",
            source.display(),
            full.display()
        );
    }
    Ok(full)
}

impl Mount {
    /// Mounts at `place` and gives the descriptor through which the kernel asks its questions.
    ///
    /// # Errors
    /// The kernel, or the helper program `fusermount3`, does not let this user mount there.
    pub fn new(place: &Path, name: &str, allow_other: bool) -> Result<(Self, OwnedFd)> {
        let fd = if rustix::process::geteuid().is_root() {
            direct(place, name, allow_other)?
        } else {
            helped(place, name, allow_other)?
        };
        let device = device(place)?.context("the mount is not there although nothing failed")?;
        Ok((
            Self {
                place: place.to_owned(),
                device,
            },
            fd,
        ))
    }

    /// Lets the kernel read this many bytes ahead, where that may be set.
    pub fn set_readahead(&self, bytes: u64) {
        let file = format!("/sys/class/bdi/{}/read_ahead_kb", self.device);
        // Only a matter of speed.
        let _ = std::fs::write(file, (bytes >> 10).to_string());
    }

    /// Takes the mount off, if it is still there. Open files stay readable as long as this program runs.
    ///
    /// # Errors
    /// The kernel's or the helper's.
    pub fn unmount(&self) -> io::Result<()> {
        if device(&self.place)?.as_deref() == Some(self.device.as_str()) {
            detach(&self.place)
        } else {
            Ok(())
        }
    }
}

fn direct(place: &Path, name: &str, allow_other: bool) -> Result<OwnedFd> {
    let file = File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .context("cannot open /dev/fuse; is the fuse module loaded?")?;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mode = FileType::Directory.as_raw_mode();
    let other = if allow_other { ",allow_other" } else { "" };
    let options = format!(
        "fd={},rootmode={mode:o},user_id={user},group_id={group},default_permissions{other}",
        file.as_raw_fd()
    );
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
    let options = CString::new(options)?;
    rustix::mount::mount(name, place, TYPE, flags, options.as_c_str())
        .with_context(|| format!("cannot mount at {}", place.display()))?;
    Ok(file.into())
}

/// Mounts by the helper that may do so for every user; it sends the descriptor over a socket.
fn helped(place: &Path, name: &str, allow_other: bool) -> Result<OwnedFd> {
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    // A comma in the name would end the option.
    let name = name.replace('\\', "\\\\").replace(',', "\\,");
    let other = if allow_other { ",allow_other" } else { "" };
    let options = format!("ro,nosuid,nodev,noexec,noatime,default_permissions,fsname={name},subtype=fuse-mount{other}");
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
        _ => bail!("fusermount3 refused to mount at {}", place.display()),
    }
}

/// The descriptor that comes over a socket; `None` if the other side only closed it.
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
        Err(io::Error::other(format!("fusermount3 -u ended with {status}")))
    }
}

/// `major:minor` of the mount on top at `place`, if it is one of this program's kind.
fn device(place: &Path) -> io::Result<Option<String>> {
    let table = std::fs::read_to_string(MOUNTINFO)?;
    Ok(find_device(&table, &place.to_string_lossy()))
}

/// Fields of a line: id, parent, device, root, mount point, options, any number of tags, `-`, type.
fn find_device(table: &str, place: &str) -> Option<String> {
    let at_place = |line: &&str| line.split(' ').nth(4).is_some_and(|p| unescape(p) == place);
    let line = table.lines().rev().find(at_place)?;
    let kind = line.split(" - ").nth(1)?.split(' ').next()?;
    (kind == TYPE).then(|| line.split(' ').nth(2).map(str::to_owned))?
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut out = parts.next().unwrap_or("").as_bytes().to_vec();
    for part in parts {
        let octal = part.get(..3).and_then(|d| u8::from_str_radix(d, 8).ok());
        match octal {
            Some(byte) => {
                out.push(byte);
                out.extend(part.get(3..).unwrap_or("").bytes());
            }
            None => out.extend(part.bytes()),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 - fuse.fuse-mount /src ro\n\
37 35 0:50 / /mnt/c rw - fuse.fuse-mount /src ro\n\
38 35 0:51 / /mnt/c rw shared:2 - tmpfs tmpfs rw\n";

    #[test]
    fn finds_our_mount_and_no_other() {
        assert_eq!(find_device(TABLE, "/mnt/a b").as_deref(), Some("98:0"));
        assert_eq!(find_device(TABLE, "/mnt/c"), None);
        assert_eq!(find_device(TABLE, "/mnt"), None);
    }

    #[test]
    fn octal_escapes() {
        assert_eq!(unescape("a\\040b\\134"), "a b\\");
        assert_eq!(unescape("plain"), "plain");
    }
}
