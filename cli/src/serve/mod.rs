//! A static file server with ranges, CORS and listings. It has a thread per connection and serves a single folder.

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

/// The most open connections. Each may have an open file, and some systems limit a program to 256 of both together. If
/// all are busy, further connections wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 100;
/// How long to wait after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves until a signal ends the program.
pub(crate) fn serve(args: &Serve) -> Result<()> {
    let root = args
        .dir
        .canonicalize()
        .with_context(|| format!("cannot serve {}", args.dir.display()))?;
    ensure!(root.is_dir(), "cannot serve {}: it is not a folder", args.dir.display());
    let address = SocketAddr::new(args.host, args.port);
    let listener = TcpListener::bind(address).map_err(|e| refused(address, &e))?;
    let address = listener.local_addr()?;
    signals::end_well();
    show::line(format_args!("serving {} on http://{address}/", args.dir.display()))?;
    let access = Access::new(args.host, &args.allow_origin);
    accept(&listener, &Arc::new(files::Root::new(root, access, args.dotfiles)));
    Ok(())
}

/// The error for an address that the server cannot listen on, with the option to change.
fn refused(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let what = match error.kind() {
        io::ErrorKind::AddrNotAvailable => format!(
            "{} is not an address of this machine; choose another --host, such as 127.0.0.1, or 0.0.0.0 for all addresses",
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
            // The connection may have ended before it was accepted. If too many files are open, some may be closed
            // soon.
            thread::sleep(PAUSE);
            continue;
        };
        let connection = connections.admit(stream);
        let root = Arc::clone(root);
        // If no thread can be started, the connection is closed, and its client can try again.
        let _ = thread::Builder::new().spawn(move || {
            // On an error, the client is gone or does not speak HTTP, so there is no answer to send.
            let _ = http::converse(&connection, |request| root.answer(request));
        });
    }
}

#[cfg(test)]
mod tests;
