//! The arguments of `fuse-mount`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};

use clap_complete::Shell;
use log::LevelFilter;

use crate::write_args::WriteArgs;
use crate::{mount_helper, mount_options};

/// The action that the arguments ask for.
#[derive(Debug)]
pub enum Command {
    /// Mount a source.
    Mount(Box<Args>),
    /// Unmount a mount point.
    Unmount {
        /// The mount point.
        place: PathBuf,
        /// Whether to unmount it even if it is in use.
        lazy: bool,
    },
    /// Print completions for a shell.
    Completions(Shell),
    /// Write the man page into a folder.
    Man(PathBuf),
    /// Do nothing, because mount(8) asked for a mount without effect.
    Nothing,
}

/// The arguments of a mount.
#[derive(Debug)]
pub struct Args {
    /// An array, a group or a folder of arrays.
    pub source: String,
    /// An empty folder.
    pub mountpoint: PathBuf,
    /// The options.
    pub options: Options,
    /// Whether to return when the mount is ready.
    pub background: bool,
    /// Whether this is the background process.
    pub detached: bool,
    /// The arguments without the program's name, for the background process.
    pub words: Vec<OsString>,
}

/// Mount TileDB arrays as folders in which every slice is a file
#[derive(Debug, Parser)]
#[command(
    name = "fuse-mount",
    version,
    args_override_self = true,
    max_term_width = 120,
    override_usage = "fuse-mount [OPTIONS] <SOURCE> <MOUNTPOINT>\n       fuse-mount --unmount [--lazy] <MOUNTPOINT>"
)]
pub(crate) struct Cli {
    /// An array, a group, or a folder of arrays: a path or URL (file:, s3:, gs:, az:, http:, https:)
    #[arg(required = true)]
    source: Option<String>,
    /// Where to mount; must be an empty folder
    #[arg(required_unless_present = "unmount")]
    mountpoint: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Run in the background; return when the mount is ready. The default with -o
    #[arg(short, long, visible_alias = "daemon", conflicts_with = "foreground")]
    background: bool,
    /// Run in the foreground. The default without -o
    #[arg(short, long)]
    foreground: bool,
    /// Unmount; if the mount is in use, list the processes that use it
    #[arg(short, long)]
    unmount: bool,
    /// With --unmount: unmount even if it is in use. Open files stay readable until they are closed
    #[arg(short = 'z', long, requires = "unmount")]
    lazy: bool,
    /// Print completions for this shell: bash, zsh, fish, elvish or powershell
    #[arg(long, value_name = "SHELL", exclusive = true, hide_possible_values = true)]
    completions: Option<Shell>,
    /// Write the man page into this folder
    #[arg(long, value_name = "DIR", exclusive = true)]
    man: Option<PathBuf>,
    /// Set for the re-executed background process
    #[arg(long, hide = true)]
    detached: bool,
    /// Options as in fstab: any option above without its dashes, such as allow_other or ttl=5, and the generic options
    /// of mount(8). A backslash quotes a comma
    #[arg(short = 'o', value_name = "OPTIONS", action = clap::ArgAction::Append)]
    mount_options: Vec<String>,
}

/// The options of a mount.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Show the arrays as of this time: a year, a date, a date and time, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = "T")]
    pub at: Option<String>,
    /// Read the key of encrypted arrays from this file: 32 bytes or 64 hex digits
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Let other users read the files
    #[arg(long)]
    pub allow_other: bool,
    /// Show this user number as the owner of the files [default: yours]
    #[arg(long, value_name = "UID")]
    pub uid: Option<u32>,
    /// Show this group number as the group of the files [default: yours]
    #[arg(long, value_name = "GID")]
    pub gid: Option<u32>,
    /// Remove these permissions from r--r--r-- of files and r-xr-xr-x of folders; an octal number
    #[arg(long, value_name = "MASK", default_value = "000", value_parser = umask)]
    pub umask: u16,
    /// Show this name as the source in `mount` and `df` [default: SOURCE]
    #[arg(long, value_name = "NAME")]
    pub fsname: Option<String>,
    /// Show new writes after at most this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = ttl)]
    pub ttl: Duration,
    /// Fail requests that take longer than this many seconds. Their work continues, so that a later try may succeed
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = timeout)]
    pub timeout: Duration,
    /// Take at most this much memory for decoded tiles and parts of files, and for files that are being made
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = cache_size)]
    pub cache_size: u64,
    /// List the files of whole attributes in slices/ up to this size
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = hyperslab_cli::sizes::parse)]
    pub list_max: u64,
    /// Receive the kernel's requests with this many threads. Any number of requests is under way at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Whether and how the mount takes new cells.
    #[command(flatten)]
    pub writing: WriteArgs,
    /// Append messages to this file [default: standard error, or none in the background]
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Log messages up to this level: error (unreadable data), warn, info (mounts and unmounts), debug (all requests)
    #[arg(long, value_name = "LEVEL", default_value = "warn", hide_possible_values = true, value_parser = log_levels())]
    pub log_level: LevelFilter,
}

/// The shortest `--timeout`, and the longest duration of any option, in seconds.
const SECONDS_MIN: f64 = 0.001;
const SECONDS_MAX: f64 = 1e9;

/// Reads the arguments of the process.
///
/// # Errors
/// A `-o` option is wrong. Other wrong arguments end the program, as do `--help` and `--version`.
pub fn read() -> Result<Command> {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    parse(&name, words.collect()).map_err(|error| match error.downcast::<clap::Error>() {
        Ok(usage) => usage.exit(),
        Err(other) => other,
    })
}

fn parse(name: &OsString, words: Vec<OsString>) -> Result<Command> {
    let words = match mount_helper::is_helper(name) {
        true => match mount_helper::arguments(words) {
            Some(words) => words,
            None => return Ok(Command::Nothing),
        },
        false => words,
    };
    let mut cli = parsed(&words)?;
    if let Some(shell) = cli.completions {
        return Ok(Command::Completions(shell));
    }
    if let Some(folder) = cli.man {
        return Ok(Command::Man(folder));
    }
    let from_mount = !cli.mount_options.is_empty();
    if from_mount {
        let mut all = mount_options::as_arguments(&cli.mount_options)?;
        // Behind the mount options, so that an option of the command line overrides them.
        all.extend(words.iter().cloned());
        cli = parsed(&all)?;
    }
    let first = cli.source.context("SOURCE is missing")?;
    if cli.unmount {
        let place = first.into();
        let lazy = cli.lazy;
        return Ok(Command::Unmount { place, lazy });
    }
    Ok(Command::Mount(Box::new(Args {
        source: first,
        mountpoint: cli.mountpoint.context("MOUNTPOINT is missing")?,
        options: cli.options,
        background: cli.background || (from_mount && !cli.foreground),
        detached: cli.detached,
        words,
    })))
}

fn parsed(words: &[OsString]) -> Result<Cli> {
    let name = OsString::from("fuse-mount");
    let cli = Cli::try_parse_from(std::iter::once(&name).chain(words)).and_then(|cli| {
        if cli.unmount && cli.mountpoint.is_some() {
            let why = "--unmount takes the mount point alone";
            return Err(Cli::command().error(ErrorKind::TooManyValues, why));
        }
        Ok(cli)
    });
    Ok(cli?)
}

fn log_levels() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["error", "warn", "info", "debug"]).map(|name| name.parse().unwrap_or(LevelFilter::Warn))
}

/// The smallest `--cache-size`: an Arrow file with text is built in a quarter of it.
const CACHE_BYTES_MIN: u64 = 16 << 20;

fn cache_size(text: &str) -> Result<u64, String> {
    let bytes = hyperslab_cli::sizes::parse(text)?;
    let enough = Some(bytes).filter(|bytes| *bytes >= CACHE_BYTES_MIN);
    enough.ok_or_else(|| "expected 16MiB or more".to_owned())
}

fn ttl(text: &str) -> Result<Duration, String> {
    seconds(text, 0.0)
}

fn timeout(text: &str) -> Result<Duration, String> {
    seconds(text, SECONDS_MIN)
}

fn seconds(text: &str, least: f64) -> Result<Duration, String> {
    let value = text.parse().ok().filter(|v| (least..=SECONDS_MAX).contains(v));
    let duration = value.and_then(|v| Duration::try_from_secs_f64(v).ok());
    duration.ok_or_else(|| format!("expected {least} to {SECONDS_MAX} seconds"))
}

fn umask(text: &str) -> Result<u16, String> {
    let mask = u16::from_str_radix(text, 8).ok().filter(|m| *m <= 0o777);
    mask.ok_or_else(|| "expected an octal number from 000 to 777".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(name: &str, words: &[&str]) -> Result<Args> {
        match parse(&name.into(), words.iter().map(OsString::from).collect())? {
            Command::Mount(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_have_a_range() {
        assert_eq!(cache_size("1GiB"), Ok(1 << 30));
        assert!(cache_size("1M").unwrap_err().contains("16MiB or more"));
        assert_eq!(ttl("0"), Ok(Duration::ZERO));
        assert_eq!(timeout("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["nan", "-1", "inf", "1e300", "x"] {
            assert!(ttl(wrong).unwrap_err().contains("0 to 1000000000 seconds"), "{wrong}");
            assert!(timeout(wrong).is_err(), "{wrong}");
        }
        assert!(timeout("0").unwrap_err().contains("0.001 to"));
        assert_eq!((umask("022"), umask("777")), (Ok(0o022), Ok(0o777)));
        assert!(umask("8").is_err() && umask("1000").is_err());
    }

    #[test]
    fn mount_options_are_the_long_options() {
        let options = "rw,nosuid,ttl=5,timeout=2.5,uid=7,gid=8,umask=027,fsname=a\\,b,allow_other,default_permissions,\
                       threads=2,at=5,key_file=k,log_file=l,log_level=debug";
        let args = mount("fuse-mount", &["a", "m", "-o", options]).unwrap();
        let o = &args.options;
        assert_eq!(
            (o.ttl, o.timeout),
            (Duration::from_secs(5), Duration::from_millis(2500))
        );
        assert_eq!((o.uid, o.gid, o.umask, o.threads), (Some(7), Some(8), 0o027, 2));
        assert_eq!((o.fsname.as_deref(), o.at.as_deref()), (Some("a,b"), Some("5")));
        assert_eq!(
            (&o.key_file, &o.log_file),
            (&Some(PathBuf::from("k")), &Some(PathBuf::from("l")))
        );
        assert!(o.allow_other && o.log_level == LevelFilter::Debug);
        // The command line overrides them, and later ones override earlier ones.
        let args = mount("fuse-mount", &["a", "m", "--ttl=9", "-o", "ttl=5,gid=1,gid=2"]).unwrap();
        assert_eq!((args.options.ttl, args.options.gid), (Duration::from_secs(9), Some(2)));
    }

    #[test]
    fn mount_options_mean_the_background() {
        let is_background = |words: &[&str]| mount("fuse-mount", &[&["a", "m"], words].concat()).unwrap().background;
        assert!(!is_background(&[]));
        assert!(is_background(&["-o", "ro"]));
        assert!(is_background(&["--daemon"]) && is_background(&["-b"]));
        assert!(!is_background(&["-o", "ro", "-f"]));
        assert!(!is_background(&["-o", "foreground"]));
        let from = |name: &str| mount(name, &["a", "m", "-n", "-v", "-t", "fuse.fuse-mount", "-o", "rw"]);
        for name in ["mount.fuse-mount", "/sbin/mount.fuse.fuse-mount"] {
            assert!(from(name).unwrap().background, "{name}");
        }
        assert!(from("fuse-mount").is_err());
    }

    #[test]
    fn unmounting_takes_the_mount_point_alone() {
        let command = |words: &[&str]| parse(&"fuse-mount".into(), words.iter().map(OsString::from).collect());
        assert!(matches!(
            command(&["-u", "m"]),
            Ok(Command::Unmount { lazy: false, .. })
        ));
        assert!(matches!(
            command(&["-uz", "m"]),
            Ok(Command::Unmount { lazy: true, .. })
        ));
        assert!(command(&["-u", "a", "m"]).is_err());
        assert!(command(&["-z", "a", "m"]).is_err());
        assert!(command(&["a"]).is_err());
    }
}
