//! The kernel's table of mounts.

use std::io;
use std::path::{Path, PathBuf};

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The device number, `major:minor`, which distinguishes a mount from later ones at the same place.
    pub(crate) device: String,
    /// The mount point.
    pub(crate) place: PathBuf,
    /// The type of the file system.
    pub(crate) kind: String,
}

/// All mounts, later ones last.
pub(crate) fn read() -> io::Result<Vec<Entry>> {
    Ok(std::fs::read_to_string(MOUNTINFO)?.lines().filter_map(entry).collect())
}

/// The topmost mount at `place`.
pub(crate) fn at(place: &Path) -> io::Result<Option<Entry>> {
    Ok(read()?.into_iter().rev().find(|entry| entry.place == place))
}

/// The fields of a line: id, parent, device, root, mount point, options, any number of tags, `-`, type.
fn entry(line: &str) -> Option<Entry> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ');
    Some(Entry {
        device: fields.nth(2)?.to_owned(),
        place: unescape(fields.nth(1)?).into(),
        kind: file_system.split(' ').next()?.to_owned(),
    })
}

/// Decodes octal escapes, with which the kernel writes spaces and backslashes.
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

    #[test]
    fn lines_of_the_table() {
        let line = "36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 - fuse.fuse-mount /src ro";
        let expected = Entry {
            device: "98:0".into(),
            place: "/mnt/a b".into(),
            kind: "fuse.fuse-mount".into(),
        };
        assert_eq!(entry(line), Some(expected));
        assert_eq!(entry("36 35 98:0"), None);
    }

    #[test]
    fn octal_escapes() {
        assert_eq!(unescape("a\\040b\\134"), "a b\\");
        assert_eq!(unescape("plain"), "plain");
    }
}
