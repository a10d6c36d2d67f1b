//! The arguments of `fuse-mount`, and the mount options after `-o`.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Parser;

/// Generic options of mount(8), some of which may have the prefix `no`, and options that only fstab uses.
const SYSTEM_OPTIONS: &[&str] = &[
    "async",
    "atime",
    "auto",
    "defaults",
    "dev",
    "diratime",
    "dirsync",
    "exec",
    "fail",
    "group",
    "iversion",
    "lazytime",
    "loud",
    "mand",
    "owner",
    "relatime",
    "ro",
    "rw",
    "silent",
    "strictatime",
    "suid",
    "sync",
    "user",
    "users",
    "_netdev",
];

/// Mount TileDB arrays as folders in which every slice is a file
#[derive(Debug, Parser)]
#[command(name = "fuse-mount", version)]
pub struct Args {
    /// An array, a group, or a folder of arrays: a path or URL (file:, s3:, gs:, az:, http:, https:)
    pub source: String,
    /// Where to mount; must be an empty folder
    pub mountpoint: PathBuf,
    /// Show the arrays as of this time: a year, a date, a date and time, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = "T")]
    pub at: Option<String>,
    /// Read the key of encrypted arrays from this file: 32 bytes or 64 hex digits
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Let other users read the files
    #[arg(long)]
    pub allow_other: bool,
    /// Show new writes after at most this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = ttl)]
    pub ttl: f64,
    /// Fail requests that take longer than this many seconds. Their work continues, so that a later try may succeed
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = timeout)]
    pub timeout: f64,
    /// Append read errors to this file [default: standard error, or none in the background]
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Run in the background; return when the mount is ready
    #[arg(short, long, conflicts_with = "foreground")]
    pub background: bool,
    /// Run in the foreground (the default)
    #[arg(short = 'f', long)]
    foreground: bool,
    /// Set for the re-executed background process
    #[arg(long, hide = true)]
    pub detached: bool,
    /// Mount options as in fstab: allow_other, background, at=T, key_file=FILE, log_file=FILE; accepts the generic
    /// options of mount(8)
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
}

/// The shortest `--timeout`, and the longest duration of any option.
const SECONDS_MIN: f64 = 0.001;
const SECONDS_MAX: f64 = 1e9;

impl Args {
    /// Applies the `-o` options.
    ///
    /// # Errors
    /// An option is unknown.
    pub fn with_options(mut self) -> Result<Self> {
        for option in std::mem::take(&mut self.options) {
            match option.split_once('=') {
                None if option == "allow_other" => self.allow_other = true,
                None if option == "background" => self.background = true,
                Some(("at", time)) => self.at = Some(time.to_owned()),
                Some(("key_file", file)) => self.key_file = Some(file.into()),
                Some(("log_file", file)) => self.log_file = Some(file.into()),
                // Handled by the system, or always true.
                _ if is_of_the_system(&option) => {}
                _ => bail!(
                    "invalid value for -o: unknown option {option}; use allow_other, background, at=T, key_file=FILE, log_file=FILE, \
                     or the generic options of mount(8)"
                ),
            }
        }
        Ok(self)
    }
}

/// Whether an option is meant for the system. mount(8) passes on all options from fstab.
fn is_of_the_system(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    let plain = name.strip_prefix("no").unwrap_or(name);
    // These may have any value: `x-systemd.automount`, `comment=…`, `user=…`.
    let valued = name.starts_with("x-") || name.starts_with("X-") || matches!(name, "comment" | "user");
    option.is_empty() || valued || (name == option && SYSTEM_OPTIONS.contains(&plain))
}

fn ttl(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (0.0..=SECONDS_MAX).contains(v));
    value.ok_or_else(|| format!("expected 0 to {SECONDS_MAX} seconds"))
}

fn timeout(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (SECONDS_MIN..=SECONDS_MAX).contains(v));
    value.ok_or_else(|| format!("expected {SECONDS_MIN} to {SECONDS_MAX} seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_range() {
        assert_eq!((ttl("0"), timeout("0.5")), (Ok(0.0), Ok(0.5)));
        for wrong in ["nan", "-1", "inf", "1e300", "x"] {
            assert!(ttl(wrong).unwrap_err().contains("0 to 1000000000 seconds"), "{wrong}");
            assert!(timeout(wrong).is_err(), "{wrong}");
        }
        assert!(timeout("0").unwrap_err().contains("0.001 to"));
    }

    fn with(options: &str) -> Result<Args> {
        Args::try_parse_from(["fuse-mount", "-o", options, "a", "m"])
            .unwrap()
            .with_options()
    }

    #[test]
    fn unknown_mount_options_are_rejected() {
        let args = with("rw,nosuid,nodev,noatime,user=me,_netdev,nofail,x-systemd.automount,allow_other,at=5").unwrap();
        assert!(args.allow_other && !args.background);
        assert_eq!(args.at.as_deref(), Some("5"));
        assert_eq!(with("defaults,key_file=k").unwrap().key_file, Some("k".into()));
        for wrong in ["keyfil=x", "key_file", "ro=1", "allow_others", "ttl=1"] {
            let why = with(wrong).unwrap_err().to_string();
            assert!(why.contains(wrong) && why.contains("key_file=FILE"), "{why}");
        }
    }
}
