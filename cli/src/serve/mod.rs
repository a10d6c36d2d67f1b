//! A static file server with ranges, CORS and listings. It serves a folder, or the view of arrays.

mod access;
mod connections;
mod files;
mod folder;
mod http;
mod listing;
mod slices;
mod tree;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};

use hyperslab::view::Source;
use hyperslab::{OpenOptions, Window};

use crate::args::Serve;
use crate::store::Env;
use crate::{show, signals};
use access::Access;
pub(crate) use access::origin;
use connections::Connections;
use folder::Folder;
use slices::Slices;
use tree::Tree;

/// The most open connections. Each may have an open file, and some systems limit a program to 256 of both together. If
/// all are busy, further connections wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 100;
/// How long to wait after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves until a signal ends the program.
pub(crate) fn serve(env: &Env, args: &Serve) -> Result<()> {
    let tree = tree(env, args).with_context(|| format!("cannot serve {}", args.dir.display()))?;
    let address = SocketAddr::new(args.host, args.port);
    let listener = TcpListener::bind(address).map_err(|e| refused(address, &e))?;
    let address = listener.local_addr()?;
    signals::end_well();
    show::line(format_args!("serving {} on http://{address}/", args.dir.display()))?;
    let access = Access::new(args.host, &args.allow_origin);
    // The view has no hidden files, and names such as .5:1.npy.
    let root = Arc::new(files::Root::new(tree, access, args.dotfiles || args.view));
    accept(listener, &root).context("cannot serve")
}

/// The files to serve.
fn tree(env: &Env, args: &Serve) -> Result<Box<dyn Tree>> {
    if args.view {
        let url = args.dir.to_str().context("its name is not UTF-8")?;
        let window = args.at.map_or(Window::ALL, |span| span.0);
        let key = env.key.clone();
        let source = Source::at_url(url, OpenOptions { window, key })?;
        return Ok(Box::new(Slices::new(source)?));
    }
    let root = args.dir.canonicalize()?;
    ensure!(root.is_dir(), "it is not a folder");
    Ok(Box::new(Folder::new(root)))
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

/// Accepts connections until the program ends.
fn accept(listener: TcpListener, root: &Arc<files::Root>) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .enable_io()
        .enable_time()
        .build()?
        .block_on(admit(listener, root))
}

async fn admit(listener: TcpListener, root: &Arc<files::Root>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let connections = Connections::new(CONNECTIONS_MAX);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The connection may have ended before it was accepted. If too many files are open, some may be closed
            // soon.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Without it, answers are only slower.
        let _ = stream.set_nodelay(true);
        let root = Arc::clone(root);
        let connection = connections.admit(stream).await;
        connection.run(|connection| http::converse(connection, move |request| root.answer(request)));
    }
}

#[cfg(test)]
mod tests;
