//! `ls` and `tree`: arrays and groups, with shapes and types.

mod item;
mod print;
mod walk;

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyperslab::group::object_type;
use hyperslab::internals::Report;
use hyperslab::internals::limits::FOLDER_DEPTH_MAX;
use hyperslab::vfs::redact;

use self::item::Item;
use self::walk::Walk;
pub(crate) use self::walk::{identity, member_place, with_or_without_key};
use crate::args::Ls;
use crate::for_each_array::for_each;
use crate::show;
use crate::store::{Env, Place};

/// Lists one level, or all of them.
pub(crate) async fn ls(env: &Env, args: &Ls, deep: bool) -> Result<()> {
    for_each(&args.paths, async |path| {
        // As `ls` does for several folders. A tree begins with its name.
        if args.paths.len() > 1 && !args.json && !deep {
            show::line(format_args!("{}:", redact(path)))?;
        }
        list(env, path, args.json, deep).await
    })
    .await
}

async fn list(env: &Env, path: &str, json: bool, deep: bool) -> Result<()> {
    let place = Place::new(path)?;
    if place.local().is_some_and(Path::is_file) {
        bail!(
            "cannot list {path}: it is a file; name a folder, or make an array of it with `hyperslab import {path} ARRAY`"
        );
    }
    let depth = if deep { FOLDER_DEPTH_MAX } else { 1 };
    let kind = object_type(&place.context, &place.path)
        .await
        .with_context(|| format!("cannot list {path}"))?;
    let mut walk = Walk::new(env, deep);
    let top = walk.item(&place, &redact(path), kind, depth).await?;
    let Some(top) = top else {
        bail!("cannot list {path}: there is no array, group or folder; check the path")
    };
    print(&top, json, deep)?;
    let mut bad = Vec::new();
    if deep {
        top.problems("", &mut bad);
    } else {
        top.listed().iter().for_each(|i| i.problems("", &mut bad));
    }
    bad.extend(walk.ended);
    let Some(last) = bad.pop() else { return Ok(()) };
    bad.iter()
        .for_each(|problem| show::styled(Report::from(problem.as_str()).coloured()));
    bail!(last)
}

fn print(top: &Item, json: bool, deep: bool) -> Result<()> {
    if json {
        let json = if deep {
            top.json()
        } else {
            top.listed().iter().map(Item::json).collect()
        };
        show::line(format_args!("{json:#}"))?;
    } else if deep {
        let mut rows = vec![top.row(&top.name)];
        top.branches("", &mut rows);
        show::table(&[], rows)?;
    } else {
        let mut rows: Vec<_> = top.listed().iter().map(|i| i.row(&i.name)).collect();
        if top.is_array() {
            top.branches("", &mut rows);
        }
        show::table(&[], rows)?;
    }
    Ok(())
}
