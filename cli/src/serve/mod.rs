//! A static file server with ranges, CORS and listings. `serve` serves a folder, or slices of arrays as files. `view`
//! serves the viewer with an array, a group or a folder.

mod access;
mod connections;
mod files;
mod folder;
mod http;
mod listing;
mod mounts;
mod site;
mod slices;
mod stored;
mod tree;
mod view;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};

use hyperslab::view::Source;
use hyperslab::{OpenOptions, Window};

use crate::args::Serve;
use crate::store::{Env, Place};
use crate::viewer::Viewer;
use crate::{show, signals};
use access::Access;
pub(crate) use access::origin;
use connections::Connections;
use folder::Folder;
use mounts::Mounts;
use slices::Slices;
use tree::Tree;
pub(crate) use view::view;

/// The most open connections. Each may have an open file, and some systems limit a program to 256 of both together. If
/// all are busy, further connections wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 100;
/// How long to wait after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// The folder in which `serve` has the viewer. Folders whose names begin with a dot are hidden, so no array is there.
const VIEWER: &str = ".viewer";

/// Serves until a signal ends the program.
pub(crate) fn serve(env: &Env, args: &Serve) -> Result<()> {
    let root = root(env, args).with_context(|| format!("cannot serve {}", args.dir.display()))?;
    let (listener, address) = listen(args.host, args.port)?;
    show::line(format_args!("serving {} on http://{address}/", args.dir.display()))?;
    accept(listener, &Arc::new(root)).context("cannot serve")
}

/// Starts to listen, and marks the command as one that runs until a signal.
fn listen(host: IpAddr, port: u16) -> Result<(TcpListener, SocketAddr)> {
    let address = SocketAddr::new(host, port);
    let listener = TcpListener::bind(address).map_err(|e| refused(address, &e))?;
    let address = listener.local_addr()?;
    signals::end_well();
    Ok((listener, address))
}

/// What `serve` serves, and to whom.
fn root(env: &Env, args: &Serve) -> Result<files::Root> {
    let tree = tree(env, args)?;
    let access = Access::new(args.host, &args.allow_origin);
    let viewer = match args.view || args.no_viewer {
        true => None,
        false => Viewer::find(args.viewer.as_deref())?,
    };
    let Some(viewer) = viewer else {
        // The view has no hidden files, and names such as .5:1.npy.
        return Ok(files::Root::new(tree, access, args.dotfiles || args.view));
    };
    let place = Place::new(args.dir.to_str().context("its name is not UTF-8")?)?;
    let page = site::page(env, place, viewer, "..");
    let tree = Mounts::new([(VIEWER.to_owned(), page)]).over(tree);
    Ok(files::Root::new(Box::new(tree), access, args.dotfiles).with_home(VIEWER))
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
