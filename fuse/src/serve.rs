//! Mounts, serves and unmounts.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fuser::{Session, SessionACL};
use hyperslab::vfs;
use sd_notify::NotifyState;

use crate::adapter::{Adapter, Owner};
use crate::args::Args;
use crate::mount::{self, Mount, Shown};
use crate::{background, logging, source};

/// The kernel's read-ahead for sequential reads, in bytes.
const READAHEAD_BYTES: u64 = 1 << 20;
/// How long open files stay readable after a signal.
const GRACE: Duration = Duration::from_secs(5);
/// The interval of checks for open files.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Mounts, and returns when the file system was unmounted or a signal arrived.
///
/// # Errors
/// The source cannot be opened, or the kernel refuses the mount.
pub fn run(args: &Args) -> Result<()> {
    if args.detached {
        background::leave_terminal()?;
    }
    logging::start(args.options.log_level);
    let place = mount::prepare(&args.mountpoint, vfs::local_path(&args.source))?;
    let files = Arc::new(source::open(args)?.telling(logging::report));
    let options = &args.options;
    let owner = Owner {
        uid: options.uid.unwrap_or_else(|| rustix::process::getuid().as_raw()),
        gid: options.gid.unwrap_or_else(|| rustix::process::getgid().as_raw()),
        umask: options.umask,
    };
    let adapter = Adapter::new(Arc::clone(&files), owner, options.timeout);

    let (events, happened) = mpsc::channel();
    let signalled = events.clone();
    // Installed before mounting, so that a signal cannot leave the mount behind.
    ctrlc::set_handler(move || drop(signalled.send(Event::Signal))).context("cannot install the signal handler")?;

    let name = options
        .fsname
        .as_deref()
        .map_or_else(|| vfs::redact(&args.source), Cow::Borrowed);
    let shown = Shown {
        name: &name,
        allow_other: options.allow_other,
        writable: files.is_writable(),
    };
    let (mounted, fd) = Mount::new(&place, &shown)?;
    let outcome = serve(adapter, fd, args, &mounted, &events, &happened);
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    // If someone else has unmounted it, another mount may be at this place by now, even with the same device number.
    if !matches!(outcome, Ok(Event::Ended(Ok(())))) {
        mounted
            .unmount()
            .with_context(|| format!("cannot unmount {}", place.display()))?;
    }
    match outcome? {
        Event::Ended(result) => {
            log::info!("{} was unmounted", place.display());
            result
        }
        // Programs may finish reading open files; a second signal ends this. Lookups are not waited for, because they
        // may take long. An error from the session is ignored, because the unmount succeeded.
        Event::Signal => {
            log::info!("unmounted {} after a signal", place.display());
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
    let log = args.options.log_file.as_deref().map(logging::open).transpose()?;
    let acl = if args.options.allow_other {
        SessionACL::All
    } else {
        SessionACL::RootAndOwner
    };
    let mut config = fuser::Config::default();
    config.acl = acl;
    // These threads only pass requests to the workers.
    config.n_threads = Some(usize::from(args.options.threads));
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
    log::info!("mounted {source} at {place}");
    // Without systemd this does nothing, and the mount works even if systemd does not listen.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    Ok(happened.recv().unwrap_or(Event::Signal))
}
