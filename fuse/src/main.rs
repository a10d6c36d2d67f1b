//! `fuse-mount SOURCE MOUNTPOINT`: an array, or a folder of arrays, as files.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use fuser::{Session, SessionACL};
use hyperslab::filter::Key;
use hyperslab::view::{Source, parse_time};
use hyperslab::{Context, OpenOptions, Window, printable, vfs};
use hyperslab_fuse::adapter::Adapter;
use hyperslab_fuse::background;
use hyperslab_fuse::errno::Refusal;
use hyperslab_fuse::filesystem::FileSystem;
use hyperslab_fuse::mount::{self, Mount};

/// Bytes the kernel reads ahead of a program that reads front to back.
const READAHEAD_BYTES: u64 = 1 << 20;
/// How long files that are open at the end may still be read.
const GRACE: Duration = Duration::from_secs(5);
/// How often is looked whether there are any.
const LOOK: Duration = Duration::from_millis(20);
/// What mount(8) takes for every file system, of which some may have `no` before them, and what fstab says to it alone.
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

/// Shows TileDB arrays as files: any slice is a file that can be named.
#[derive(Debug, Parser)]
#[command(name = "fuse-mount", version)]
struct Args {
    /// An array, a group, or a folder of arrays: a path, or a URL (file:, s3:, gs:, az:, http:, https:).
    source: String,
    /// An empty folder.
    mountpoint: PathBuf,
    /// Show the arrays as of this time: a year, a date or a date and time, or milliseconds since 1970.
    #[arg(long, value_name = "T")]
    at: Option<String>,
    /// The key of encrypted arrays: a file of 32 bytes or 64 hex digits.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Let other users read the files too.
    #[arg(long)]
    allow_other: bool,
    /// Seconds after which a name shows what was written since.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = ttl)]
    ttl: f64,
    /// Seconds after which a program that waits for data is told that it failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = timeout)]
    timeout: f64,
    /// Where to tell what could not be read, and why: a file that is appended to. Else standard error, which a mount in
    /// the background does not have.
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Come back once the files can be read, and go on without the terminal.
    #[arg(short, long, conflicts_with = "foreground")]
    background: bool,
    /// Stay in the foreground, which is what happens anyway.
    #[arg(short = 'f', long)]
    foreground: bool,
    /// This is the program that the one in the foreground has started.
    #[arg(long, hide = true)]
    detached: bool,
    /// Mount options as in fstab: allow_other, background, at=T, key_file=FILE, log_file=FILE; those that mount(8) knows are for the system.
    #[arg(short = 'o', value_name = "OPTIONS", value_delimiter = ',')]
    options: Vec<String>,
}

/// The shortest `--timeout`, and the longest time of any option.
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
        // The program in the background has said why.
        Ok(None) => ExitCode::FAILURE,
        Err(e) => {
            // Where this cannot be written there is nobody to tell.
            let _ = writeln!(
                std::io::stderr(),
                "fuse-mount: {}",
                printable(&vfs::redact(&format!("{e:#}")), &['\n'])
            );
            ExitCode::FAILURE
        }
    }
}

impl Args {
    /// The same with what the `-o` options say.
    fn with_options(mut self) -> Result<Self> {
        for option in std::mem::take(&mut self.options) {
            match option.split_once('=') {
                None if option == "allow_other" => self.allow_other = true,
                None if option == "background" => self.background = true,
                Some(("at", time)) => self.at = Some(time.to_owned()),
                Some(("key_file", file)) => self.key_file = Some(file.into()),
                Some(("log_file", file)) => self.log_file = Some(file.into()),
                // For the system, or true anyway.
                _ if is_of_the_system(&option) => {}
                _ => bail!(
                    "-o {option}: there is no such option; there are allow_other, background, at=T, key_file=FILE, \
                     log_file=FILE, and those of mount(8) for every file system"
                ),
            }
        }
        Ok(self)
    }
}

/// Whether an option of a mount is none of this program's business: mount(8) and fstab hand on all they have.
fn is_of_the_system(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    let plain = name.strip_prefix("no").unwrap_or(name);
    // Of these each has its own value: `x-systemd.automount`, `comment=…`, `user=…`.
    let valued = name.starts_with("x-") || name.starts_with("X-") || matches!(name, "comment" | "user");
    option.is_empty() || valued || (name == option && SYSTEM_OPTIONS.contains(&plain))
}

fn run(args: Args) -> Result<()> {
    if args.detached {
        background::leave_terminal()?;
    }
    let place = mount::prepare(&args.mountpoint, vfs::local_path(&args.source))?;
    let files = Arc::new(open(&args)?.telling(tell));
    let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let adapter = Adapter::new(Arc::clone(&files), owner, seconds(args.timeout)?);

    let (events, happened) = mpsc::channel();
    let signalled = events.clone();
    // Before the mount: a signal in between must not leave it behind.
    ctrlc::set_handler(move || drop(signalled.send(Event::Signal))).context("cannot watch for signals")?;

    let (mounted, fd) = Mount::new(&place, &vfs::redact(&args.source), args.allow_other)?;
    let outcome = serve(adapter, fd, &args, &mounted, &events, &happened);
    mounted
        .unmount()
        .with_context(|| format!("cannot unmount {}", place.display()))?;
    match outcome? {
        Event::Ended(result) => result,
        // Programs may still be reading files that they have open; a second signal cuts them off. Who only waits
        // for a name is not waited for: what it leads to may take long to make. The mount is off as it was asked to
        // be: how the kernel then hangs up is no failure.
        Event::Signal => {
            let end = Instant::now() + GRACE;
            while files.has_open_files() && Instant::now() < end && happened.recv_timeout(LOOK).is_err() {}
            Ok(())
        }
    }
}

/// What ends a mount.
enum Event {
    Signal,
    /// The kernel has nothing more to ask: somebody took the mount off.
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
    // Threads only wait here; the more, the more questions can be under way.
    config.n_threads = Some(16);
    config.clone_fd = true;
    let session = Session::from_fd(adapter, fd, acl, config)
        .context("the kernel and this program do not understand each other")?;
    mounted.set_readahead(READAHEAD_BYTES);
    let ended = events.clone();
    std::thread::Builder::new().name("session".into()).spawn(move || {
        let result = session.run().context("the connection to the kernel broke");
        // Nobody listens once the program is on its way out.
        let _ = ended.send(Event::Ended(result));
    })?;
    // The first answer through the kernel shows that it works.
    std::fs::metadata(&args.mountpoint).context("the mount does not answer")?;
    // It is a mount whether or not somebody hears of it.
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
        Some(time) => Window::at(parse_time(time).context("--at")?),
        None => Window::ALL,
    };
    let key = args.key_file.as_deref().map(key).transpose()?;
    // Of a URL, what its signature is no part of.
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
            "{} is a file; give an array, a group or a folder of arrays",
            args.source
        );
    }
    // Groups name their members by full paths, whatever was typed here.
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
    FileSystem::new(source, seconds(args.ttl)?).map_err(|e| anyhow::anyhow!("cannot open {}: {e}", args.source))
}

/// The file in which is told what could not be read.
fn log(file: &Path) -> Result<File> {
    let opened = File::options().append(true).create(true).open(file);
    opened.with_context(|| format!("--log-file {}: cannot be written to", file.display()))
}

/// Tells what could not be read.
fn tell(path: &str, refusal: &Refusal) {
    // Where this cannot be written there is nobody to tell.
    let told = format!("fuse-mount: cannot read {path:?}: {refusal}");
    let _ = writeln!(std::io::stderr(), "{}", printable(&vfs::redact(&told), &[]));
}

/// The key in a file.
fn key(file: &Path) -> Result<Key> {
    let shown = file.display();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read the key in {shown}"))?;
    let key =
        Key::parse(&bytes).with_context(|| format!("{shown} holds no key; a key is 32 bytes or 64 hex digits"))?;
    if vfs::readable_by_everyone(file) {
        let why = format!("every user of this machine may read the key in {shown}; run `chmod 600 {shown}`");
        let _ = writeln!(std::io::stderr(), "fuse-mount: warning: {why}");
    }
    Ok(key)
}

fn ttl(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (0.0..=SECONDS_MAX).contains(v));
    value.ok_or_else(|| format!("give 0 to {SECONDS_MAX} seconds"))
}

fn timeout(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|v| (SECONDS_MIN..=SECONDS_MAX).contains(v));
    value.ok_or_else(|| format!("give {SECONDS_MIN} to {SECONDS_MAX} seconds"))
}

fn seconds(value: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(value).with_context(|| format!("{value} is no number of seconds"))
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
    fn options_of_mount_are_accepted_and_others_are_known_or_refused() {
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
