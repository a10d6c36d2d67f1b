//! A static file server: ranges, CORS, listings. One thread a connection, nothing above the folder.

mod access;
mod connections;
mod files;
mod http;
mod listing;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::args::Serve;
use crate::{show, signals};
use access::Access;
pub(crate) use access::origin;
use connections::Connections;

/// Connections open at a time, each with a file: some systems allow a program 256 of both together. Where all of them are
/// being answered, more wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 100;
/// How long to wait after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves until a signal ends the program.
pub(crate) fn serve(args: &Serve) -> Result<()> {
    let root = args
        .dir
        .canonicalize()
        .with_context(|| format!("cannot serve {}", args.dir.display()))?;
    ensure!(root.is_dir(), "cannot serve {}: it is no folder", args.dir.display());
    let address = SocketAddr::new(args.host, args.port);
    let listener = TcpListener::bind(address).map_err(|e| refused(address, &e))?;
    let address = listener.local_addr()?;
    signals::end_well();
    show::line(format_args!("serving {} on http://{address}/", args.dir.display()))?;
    let access = Access::new(args.host, &args.allow_origin);
    accept(&listener, &Arc::new(files::Root::new(root, access, args.dotfiles)));
    Ok(())
}

/// The failure to listen, with the option that helps.
fn refused(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let what = match error.kind() {
        io::ErrorKind::AddrNotAvailable => format!(
            "{} is no address of this machine; choose another --host, such as 127.0.0.1, or 0.0.0.0 for all there are",
            address.ip()
        ),
        _ => format!("{error}; choose another --port"),
    };
    anyhow!("cannot listen on {address}: {what}")
}

fn accept(listener: &TcpListener, root: &Arc<files::Root>) {
    let connections = Connections::new(CONNECTIONS_MAX);
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // A connection that ended before it was taken is nobody's concern; where there are too many open files,
            // some may be closed a moment later.
            thread::sleep(PAUSE);
            continue;
        };
        let connection = connections.admit(stream);
        let root = Arc::clone(root);
        // Where there is no thread for it the connection is closed, and its client may try again.
        let _ = thread::Builder::new().spawn(move || {
            // The peer has gone, or speaks something else: there is nobody to answer.
            let _ = http::converse(&connection, |request| root.answer(request));
        });
    }
}

#[cfg(test)]
mod tests;
