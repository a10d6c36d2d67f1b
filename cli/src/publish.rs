//! `publish`: writes a folder that any static host serves: the viewer, an array or a group, and how to serve it.

mod receipt;

use anyhow::{Context as _, Result, bail};
use hyperslab::Window;
use hyperslab::conventions;
use hyperslab::group::object_type;
use hyperslab::internals::vfs::percent_encode;
use hyperslab::vfs::{self, last_part, manifest, redact};
use serde_json::{Value, json};

use crate::args::Publish;
use crate::build::Building;
use crate::store::{Env, Place};
use crate::viewer::{self, CATALOG, Viewer};
use crate::{copy, show, sizes};

/// The requirements on the host, in plain words.
const README: &str = include_str!("publish/README.txt");
/// The folder of the data, next to the page.
const DATA: &str = "data";

/// The data of the site.
#[derive(Debug, Default)]
struct Copied {
    files: u64,
    bytes: u64,
    /// The arrays next to the published one that its metadata names, which become public with it.
    neighbours: Vec<String>,
}

/// Runs the command.
pub(crate) async fn publish(env: &Env, args: &Publish) -> Result<()> {
    let source = redact(&args.source);
    let what = || format!("cannot publish {source}");
    let viewer = Viewer::require(args.viewer.as_deref()).with_context(what)?;
    let from = Place::new(&args.source)?;
    let kind = object_type(&from.context, &from.path).await.with_context(what)?;
    if kind.is_none() {
        bail!("cannot publish {source}: there is no array or group; `hyperslab ls` lists the arrays of a folder");
    }
    let to = Place::new(args.site.to_str().context("the name of the site is not UTF-8")?)?;
    if to.local().is_none() {
        bail!(
            "cannot publish to {}: it is not a folder of this machine; publish to a folder, and upload that",
            redact(&to.url)
        );
    }
    copy::apart(&from, &to)?;
    if args.link {
        check_link(&from)?;
    }
    let replaces = args.force && args.site.exists();
    let (kept, building) = match replaces {
        true => (receipt::check(&args.site)?, Building::start_again(&to).await?),
        false => (None, Building::start(&to).await?),
    };
    let written = write(env, args, &from, building.place(), &viewer, kept.as_deref())
        .await
        .with_context(what);
    // Copying takes time, in which the old site may have changed.
    let unchanged = || match replaces && receipt::check(&args.site)? != kept {
        true => bail!("{} was changed during the command; run it again", args.site.display()),
        false => Ok(()),
    };
    let written = written.and_then(|copied| unchanged().map(|()| copied));
    let copied = building.end(written).await?;
    report(args, copied)
}

/// Prints what was written.
fn report(args: &Publish, copied: Copied) -> Result<()> {
    let Copied {
        files,
        bytes,
        neighbours,
    } = copied;
    let site = args.site.display();
    if args.json {
        let json = json!({"source": redact(&args.source), "site": site.to_string(), "files": files, "bytes": bytes, "neighbours": neighbours});
        return show::line(format_args!("{json:#}"));
    }
    let data = match args.link {
        true => format!("the data stays at {}", redact(&args.source)),
        false => format!("data: {}, {}", show::count(files, "file"), sizes::show(bytes)),
    };
    let data = match neighbours.is_empty() {
        true => data,
        false => format!("{data}, with what its metadata names: {}", neighbours.join(", ")),
    };
    show::line(format_args!("{site}: {data}; {site}/README.txt says how to serve it"))
}

/// Writes the site into a folder that nobody sees yet. `kept` is the list of arrays to use instead of a new one.
async fn write(
    env: &Env,
    args: &Publish,
    from: &Place,
    site: &Place,
    viewer: &Viewer,
    kept: Option<&[u8]>,
) -> Result<Copied> {
    let folder = site.local().context("the site is a folder of this machine")?;
    viewer.write_to(folder).context("cannot write the viewer")?;
    let (url, copied) = match args.link {
        true => (args.source.clone(), Copied::default()),
        false => data(env, from, site).await?,
    };
    let entries = viewer::list(env, from, &url).await?;
    let catalog = viewer::json(&entries)?;
    if let Some(kept) = kept {
        check_kept(kept, entries.iter().map(|entry| entry.url.as_str()))?;
    }
    let files: [(&str, &[u8]); 3] = [
        (CATALOG, kept.unwrap_or(&catalog)),
        ("README.txt", README.as_bytes()),
        // Else GitHub Pages leaves out files whose names begin with `_`, which most files of arrays do.
        (".nojekyll", b""),
    ];
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).with_context(|| format!("cannot write {name}"))?;
    }
    receipt::write(folder, &catalog)?;
    Ok(copied)
}

/// Checks that a list of arrays that was changed by hand still has what is published.
fn check_kept<'a>(kept: &[u8], mut published: impl Iterator<Item = &'a str>) -> Result<()> {
    let listed: Option<Vec<Value>> = serde_json::from_slice(kept).ok();
    let is_listed = |url: &str| listed.iter().flatten().any(|entry| entry["url"] == url);
    if let Some(url) = published.find(|url| !is_listed(url)) {
        bail!(
            "{CATALOG} was changed since it was published, and does not list {url}; add it to the file, or remove the file \
             to have it written again"
        );
    }
    show::note(format_args!(
        "{CATALOG} was changed since it was published, and is kept; remove the file to have it written again"
    ));
    Ok(())
}

/// Copies the array or group and the arrays next to it that its description names, each with a manifest. Returns the URL
/// of its copy, relative to the page.
async fn data(env: &Env, from: &Place, site: &Place) -> Result<(String, Copied)> {
    let dataset = conventions::of(&from.context, &from.path, &env.options(Window::ALL)).await?;
    let name = viewer::name_of(from);
    let mut all = viewer::neighbours(from, &dataset).await;
    let mut copied = Copied {
        neighbours: all.iter().map(|(name, _)| name.clone()).collect(),
        ..Copied::default()
    };
    all.push((name.clone(), from.clone()));
    for (name, place) in &all {
        let target = site.join(DATA).join(name);
        let mut files = vfs::walk(&*place.context.vfs, &place.path, |path| {
            last_part(path).starts_with('.')
        })
        .await?;
        // A manifest is written again, for the copies.
        files.retain(|file| last_part(&file.path) != manifest::MANIFEST);
        target.context.vfs.create_dir(&target.path).await?;
        copy::all(place, &target, &files).await?;
        copy::groups(env, place, &target, &target, &files).await?;
        manifest::write(&*target.context.vfs, &target.path).await?;
        copied.files += files.iter().filter(|file| file.size.is_some()).count() as u64;
        copied.bytes = copied
            .bytes
            .saturating_add(sizes::total(files.iter().filter_map(|file| file.size)));
    }
    Ok((format!("{DATA}/{}", percent_encode(&name)), copied))
}

/// Returns an error if a page cannot read the data from its URL, or should not know it.
fn check_link(from: &Place) -> Result<()> {
    let shown = redact(&from.url);
    if !from.url.starts_with("https://") && !from.url.starts_with("http://") {
        bail!("cannot link to {shown}: pages read only http: and https: URLs; give such a URL, or leave out --link");
    }
    if shown != from.url {
        bail!(
            "cannot link to {shown}: everyone who opens the page could read the password or signature in the URL; give a \
             public URL, or leave out --link"
        );
    }
    Ok(())
}
