//! Calls by mount(8).
//!
//! For `mount -t fuse.fuse-mount`, mount(8) starts `mount.fuse.fuse-mount`, if there is a link of that name to this
//! program, or else libfuse's `mount.fuse`, which starts `fuse-mount SOURCE MOUNTPOINT -o OPTIONS`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Names of this program as a helper of mount(8).
const NAMES: [&str; 2] = ["mount.fuse-mount", "mount.fuse.fuse-mount"];

/// Whether the program was started under the name of a helper of mount(8).
pub(crate) fn is_helper(name: &OsStr) -> bool {
    let name = Path::new(name).file_name().unwrap_or(name);
    NAMES.iter().any(|n| name == OsStr::new(n))
}

/// Translates the arguments of a helper to the program's own: `SOURCE MOUNTPOINT [-sfnv] [-t TYPE] -o OPTIONS`. `None` if mount(8)
/// asks for no mount (`mount --fake`).
pub(crate) fn arguments(words: Vec<OsString>) -> Option<Vec<OsString>> {
    let mut kept = Vec::new();
    let mut has_options = false;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("-f") => return None,
            // Tolerate unknown options, do not write /etc/mtab, be verbose.
            Some("-s" | "-n" | "-v") => {}
            Some("-t") => drop(words.next()),
            Some("-o") => {
                has_options = true;
                kept.push(word);
                kept.extend(words.next());
            }
            _ => kept.push(word),
        }
    }
    if !has_options {
        kept.extend(["-o".into(), "defaults".into()]);
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_mount_are_translated() {
        let translate = |words: &str| {
            let kept = arguments(words.split(' ').map(OsString::from).collect())?;
            Some(kept.join(OsStr::new(" ")).into_string().unwrap())
        };
        let expected = Some("a m -o ro,ttl=1".to_owned());
        assert_eq!(translate("a m -n -o ro,ttl=1 -t fuse-mount -v -s"), expected);
        assert_eq!(translate("a m -v"), Some("a m -o defaults".to_owned()));
        assert_eq!(translate("a m -f -o ro"), None);
        assert!(is_helper(OsStr::new("/usr/sbin/mount.fuse-mount")) && is_helper(OsStr::new("mount.fuse.fuse-mount")));
        assert!(!is_helper(OsStr::new("fuse-mount")) && !is_helper(OsStr::new("/sbin/mount.fuse")));
    }
}
