//! `view`: shows an array, a group or a folder in the user's browser.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use hyperslab::blocking::block_on;
use hyperslab::internals::vfs::percent_encode;
use hyperslab::vfs::redact;

use super::access::Access;
use super::files::Root;
use super::mounts::Mounts;
use super::site::{DATA, Site, site};
use super::{accept, listen};
use crate::args::View;
use crate::show;
use crate::store::{Env, Place, seed};
use crate::viewer::Viewer;

/// Bytes of the secret part of the address.
const TOKEN_BYTES: usize = 16;

/// Serves the viewer and the data below a secret path on a loopback address until a signal ends the program.
pub(crate) fn view(env: &Env, args: &View) -> Result<()> {
    let shown = redact(&args.place);
    let what = || format!("cannot show {shown}");
    let viewer = Viewer::require(args.viewer.as_deref()).with_context(what)?;
    let place = Place::new(&args.place)?;
    check(&place)?;
    let Site { tree, first } = site(env, &place, viewer).with_context(what)?;
    let token = show::hex(seed()?.get(..TOKEN_BYTES).unwrap_or_default());
    let (listener, address) = listen(IpAddr::V4(Ipv4Addr::LOCALHOST), args.port)?;
    // The page decodes the text after the sign once, and then it is a URL.
    let fragment = first.map_or_else(String::new, |url| format!("#url={}", percent_encode(&url)));
    let url = format!("http://{address}/{token}/{fragment}");
    show::line(format_args!("showing {shown} on {url}"))?;
    if !args.no_open
        && let Err(error) = open::that_detached(&url)
    {
        show::note(format_args!(
            "cannot open a browser ({error}); open the address above in one"
        ));
    }
    let data = format!("{token}/{DATA}");
    let tree = Mounts::new([(token, tree)]);
    let root = Root::new(Box::new(tree), Access::own_pages(), false).with_data(data);
    accept(listener, &Arc::new(root)).context("cannot serve")
}

/// Returns an error if there is nothing to show.
fn check(place: &Place) -> Result<()> {
    let url = redact(&place.url);
    if place.local().is_some_and(Path::is_file) {
        bail!("cannot show {url}: it is a file; make an array of it with `hyperslab import {url} ARRAY`");
    }
    let listed = block_on(place.context.vfs.list(&place.path)).with_context(|| format!("cannot show {url}"))?;
    if listed.is_empty() {
        bail!("cannot show {url}: there is no array, group or folder of arrays; check the path");
    }
    Ok(())
}
