//! `fuse-mount SOURCE MOUNTPOINT`: mounts an array or a folder of arrays.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use fuser::{Session, SessionACL};
use hyperslab::blocking::block_on;
use hyperslab::internals::{Report, calendar, coloured_message, printable};
use hyperslab::view::{Source, parse_time};
use hyperslab::{Array, Context, Key, OpenOptions, Window, vfs};
use hyperslab_fuse::adapter::Adapter;
use hyperslab_fuse::background;
use hyperslab_fuse::errno::FsError;
use hyperslab_fuse::filesystem::FileSystem;
use hyperslab_fuse::mount::{self, Mount};

/// The kernel's read-ahead for sequential reads, in bytes.
const READAHEAD_BYTES: u64 = 1 << 20;
/// How long open files stay readable after a signal.
const GRACE: Duration = Duration::from_secs(5);
/// The interval of checks for open files.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
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
struct Args {
    /// An array, a group, or a folder of arrays: a path or URL (file:, s3:, gs:, az:, http:, https:)
    source: String,
    /// Where to mount; must be an empty folder
    mountpoint: PathBuf,
    /// Show the arrays as of this time: a year, a date, a date and time, or milliseconds since 1970 [default: now]
    #[arg(long, value_name = "T")]
    at: Option<String>,
    /// Read the key of encrypted arrays from this file: 32 bytes or 64 hex digits
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Let other users read the files
    #[arg(long)]
    allow_other: bool,
    /// Show new writes after at most this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = ttl)]
    ttl: f64,
    /// Fail requests that take longer than this many seconds. Their work continues, so that a later try may succeed
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = timeout)]
    timeout: f64,
    /// Append read errors to this file [default: standard error, or none in the background]
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Run in the background; return when the mount is ready
    #[arg(short, long, conflicts_with = "foreground")]
    background: bool,
    /// Run in the foreground (the default)
    #[arg(short = 'f', long)]
    foreground: bool,
    /// Set for the re-executed background process
    #[arg(long, hide = true)]
    detached: bool,
    /// Mount options as in fstab: allow_other, background, at=T, key_file=FILE, log_file=FILE; accepts the generic
    /// options of mount(8)
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
}

/// The shortest `--timeout`, and the longest duration of any option.
const SECONDS_MIN: f64 = 0.001;
const SECONDS_MAX: f64 = 1e9;

fn main() -> ExitCode {
    let outcome = Args::parse().with_options().and_then(|args| {
        if args.background && !args.detached {
            background::start().map(|ready| ready.map(|line| drop(writeln!(std::io::stdout(), "{line}"))))
        } else {
            run(args).map(Some)
        }
    });
    match outcome {
        Ok(Some(())) => ExitCode::SUCCESS,
        // The background process has printed the reason.
        Ok(None) => ExitCode::FAILURE,
        Err(e) => {
            print(&Report::new(e.as_ref()).coloured());
            ExitCode::FAILURE
        }
    }
}

impl Args {
    /// Applies the `-o` options.
    fn with_options(mut self) -> Result<Self> {
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

fn run(args: Args) -> Result<()> {
    if args.detached {
        background::leave_terminal()?;
    }
    let place = mount::prepare(&args.mountpoint, vfs::local_path(&args.source))?;
    let files = Arc::new(open(&args)?.telling(report));
    let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let adapter = Adapter::new(Arc::clone(&files), owner, seconds(args.timeout)?);

    let (events, happened) = mpsc::channel();
    let signalled = events.clone();
    // Installed before mounting, so that a signal cannot leave the mount behind.
    ctrlc::set_handler(move || drop(signalled.send(Event::Signal))).context("cannot install the signal handler")?;

    let (mounted, fd) = Mount::new(&place, &vfs::redact(&args.source), args.allow_other)?;
    let outcome = serve(adapter, fd, &args, &mounted, &events, &happened);
    // If someone else has unmounted it, another mount may be at this place by now, even with the same device number.
    if !matches!(outcome, Ok(Event::Ended(Ok(())))) {
        mounted
            .unmount()
            .with_context(|| format!("cannot unmount {}", place.display()))?;
    }
    match outcome? {
        Event::Ended(result) => result,
        // Programs may finish reading open files; a second signal ends this. Lookups are not waited for, because they
        // may take long. An error from the session is ignored, because the unmount succeeded.
        Event::Signal => {
            let end = Instant::now() + GRACE;
            while files.has_open_files() && Instant::now() < end && happened.recv_timeout(POLL_INTERVAL).is_err() {}
            Ok(())
        }
    }
}

/// The events that end a mount.
enum Event {
    Signal,
    /// The session ended, because the file system was unmounted.
    Ended(Result<()>),
}

fn serve(
    adapter: Adapter,
    fd: std::os::fd::OwnedFd,
    args: &Args,
    mounted: &Mount,
    events: &mpsc::Sender<Event>,
    happened: &mpsc::Receiver<Event>,
) -> Result<Event> {
    let log = args.log_file.as_deref().map(log).transpose()?;
    let acl = if args.allow_other {
        SessionACL::All
    } else {
        SessionACL::RootAndOwner
    };
    let mut config = fuser::Config::default();
    config.acl = acl;
    // These threads only pass requests to the workers.
    config.n_threads = Some(4);
    config.clone_fd = true;
    let session =
        Session::from_fd(adapter, fd, acl, config).context("the kernel's FUSE protocol version is not supported")?;
    mounted.set_readahead(READAHEAD_BYTES);
    let ended = events.clone();
    std::thread::Builder::new().name("session".into()).spawn(move || {
        let result = session.run().context("the connection to the kernel failed");
        // The receiver is gone when the program exits.
        let _ = ended.send(Event::Ended(result));
    })?;
    // A first request through the kernel checks the mount.
    std::fs::metadata(&args.mountpoint).context("the mount does not respond")?;
    // The mount works even if standard output is closed.
    let place = args.mountpoint.display();
    let source = vfs::redact(&args.source);
    let _ = writeln!(std::io::stdout(), "READY: mounted {source} at {place}");
    if args.detached {
        background::close_outputs(log.as_ref())?;
    } else if let Some(log) = &log {
        rustix::stdio::dup2_stderr(log)?;
    }
    Ok(happened.recv().unwrap_or(Event::Signal))
}

fn open(args: &Args) -> Result<FileSystem> {
    let (store, path) = vfs::open_url(&args.source).with_context(|| format!("cannot open {}", args.source))?;
    let window = match &args.at {
        Some(time) => Window::at(parse_time(time).context("invalid value for --at")?),
        None => Window::ALL,
    };
    let key = args.key_file.as_deref().map(key).transpose()?;
    // The URL without its query, which may contain a signature.
    let unsigned = match vfs::local_path(&args.source) {
        Some(_) => args.source.as_str(),
        None => args.source.split(['?', '#']).next().unwrap_or_default(),
    };
    let name = unsigned
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .filter(|n| !n.is_empty() && *n != ".")
        .unwrap_or("arrays")
        .to_owned();
    if vfs::local_path(&args.source).is_some_and(Path::is_file) {
        bail!(
            "cannot mount {}: it is a file; give an array, a group or a folder of arrays",
            args.source
        );
    }
    // Groups name their members by absolute paths, even if the source is a relative path.
    let url = match vfs::local_path(&args.source) {
        Some(local) => std::path::absolute(local)?.to_string_lossy().into_owned(),
        None => args.source.clone(),
    };
    let source = Source {
        context: Context::new(store),
        url,
        path,
        options: OpenOptions { window, key },
        name,
    };
    if args.at.is_some() {
        warn_if_nothing_was_written(&source);
    }
    FileSystem::new(source, seconds(args.ttl)?).with_context(|| format!("cannot open {}", args.source))
}

/// Warns if the source is an array that was first written after the time of the mount. Such a mount looks like that of an
/// array without cells.
fn warn_if_nothing_was_written(source: &Source) {
    let opened = block_on(async {
        let array = Array::open(&source.context, &source.path, &source.options).await?;
        let later = array.at(Window::ALL).await?.times();
        Ok::<_, hyperslab::Error>(later.first().copied().filter(|_| array.times().is_empty()))
    });
    // A folder or a group is no array, and the mount reports other errors itself.
    if let Ok(Some(first_ms)) = opened {
        let time = calendar::format_milliseconds(first_ms);
        let why = format!(
            "nothing was written to this array until the time of --at, so the mount shows no cells; the first write is of \
             {time}"
        );
        print(&coloured_message("warning", &why));
    }
}

/// Opens the log file.
fn log(file: &Path) -> Result<File> {
    let opened = File::options().append(true).create(true).open(file);
    opened.with_context(|| format!("cannot append to the log file {}", file.display()))
}

/// Prints lines on standard error, with colours on a terminal. A failed write cannot be reported.
fn print(lines: &str) {
    let _ = writeln!(anstream::stderr(), "{lines}");
}

/// Reports data that cannot be read.
fn report(path: &str, refusal: &FsError) {
    // A failed write to standard error cannot be reported.
    let message = format!("fuse-mount: cannot read {path:?}: {refusal}");
    let _ = writeln!(std::io::stderr(), "{}", printable(&vfs::redact(&message), &[]));
}

/// Reads a key file.
fn key(file: &Path) -> Result<Key> {
    let shown = file.display();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read the key in {shown}"))?;
    let key = Key::parse(&bytes).with_context(|| {
        format!("invalid value for --key-file: {shown} does not contain a key; a key is 32 bytes or 64 hex digits")
    })?;
    if hyperslab::internals::vfs::readable_by_everyone(file) {
        let why = format!("every user of this machine can read the key in {shown}; run `chmod 600 {shown}`");
        print(&coloured_message("warning", &why));
    }
    Ok(key)
}

fn ttl(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (0.0..=SECONDS_MAX).contains(v));
    value.ok_or_else(|| format!("expected 0 to {SECONDS_MAX} seconds"))
}

fn timeout(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (SECONDS_MIN..=SECONDS_MAX).contains(v));
    value.ok_or_else(|| format!("expected {SECONDS_MIN} to {SECONDS_MAX} seconds"))
}

fn seconds(value: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(value).with_context(|| format!("{value} is not a valid number of seconds"))
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
