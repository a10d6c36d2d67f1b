//! Runs a maintenance command on an array, or on every array of a group.

use std::collections::HashSet;

use anyhow::{Context as _, Error, Result, anyhow, bail};
use hyperslab::group::{Group, ObjectType, object_type};
use hyperslab::internals::limits::FOLDER_DEPTH_MAX;
use hyperslab::vfs::join_url;
use hyperslab::vfs::redact;

use crate::ls::{identity, member_place, with_or_without_key};
use crate::store::{Env, Place};
use crate::{errors, time_args};

/// An array that a command runs on.
pub(crate) struct Target {
    /// Its path or URL.
    pub(crate) url: String,
    /// The prefix of printed file names: the array's URL if the command runs on a group, else empty.
    pub(crate) prefix: String,
}

/// Calls `act` with the array at `url`, or with every array of the group there and of its nested groups. An error in
/// one array does not stop the others.
pub(crate) async fn for_each_array(env: &Env, url: &str, act: impl AsyncFn(&Target) -> Result<()>) -> Result<()> {
    let place = Place::new(url)?;
    let kind = object_type(&place.context, &place.path).await;
    if kind.with_context(|| format!("cannot access {url}"))? != Some(ObjectType::Group) {
        let prefix = String::new();
        return act(&Target {
            url: url.to_owned(),
            prefix,
        })
        .await;
    }
    let mut found = Found::default();
    collect(env, &place, FOLDER_DEPTH_MAX, &mut found).await?;
    if found.arrays.is_empty() && found.bad.is_empty() {
        bail!("cannot read {url}: the group has no arrays; add one with `hyperslab group add`");
    }
    let targets = found.arrays.into_iter().map(|url| {
        let prefix = redact(&join_url(&url, "")).into_owned();
        Target { url, prefix }
    });
    each(targets, found.bad, async |target: Target| act(&target).await).await
}

/// Calls `act` with each path. An error at one path does not stop the others.
pub(crate) async fn for_each(paths: &[String], act: impl AsyncFn(&str) -> Result<()>) -> Result<()> {
    each(paths.iter(), Vec::new(), async |path: &String| act(path).await).await
}

/// Calls `act` with each item. Prints the earlier errors `bad` and all new errors but the last, and returns the last.
async fn each<T>(
    items: impl Iterator<Item = T>,
    mut bad: Vec<Error>,
    act: impl AsyncFn(T) -> Result<()>,
) -> Result<()> {
    for item in items {
        if let Err(error) = act(item).await {
            bad.push(error);
        }
    }
    let Some(last) = bad.pop() else { return Ok(()) };
    bad.iter().for_each(errors::print);
    Err(last)
}

/// The arrays of a group.
#[derive(Default)]
struct Found {
    arrays: Vec<String>,
    /// Arrays and groups that were found before: several groups may have the same member.
    seen: HashSet<String>,
    bad: Vec<anyhow::Error>,
}

/// Collects the arrays of a group, down to `depth` levels: a server may list nested groups without end.
async fn collect(env: &Env, place: &Place, depth: usize, found: &mut Found) -> Result<()> {
    if !found.seen.insert(identity(place)) {
        return Ok(());
    }
    if depth == 0 {
        bail!(
            "cannot list {}: groups are nested more than {FOLDER_DEPTH_MAX} levels deep; name a group further down",
            place.url
        );
    }
    let window = time_args::window(None)?;
    let open = async |env: &Env| Ok(Group::open(&place.context, &place.path, &env.options(window)).await?);
    let group = with_or_without_key(env, open).await;
    let group = group.with_context(|| format!("cannot open {}", place.url))?;
    let mut places = Vec::new();
    for member in &group.members {
        match member_place(place, member) {
            Ok(at) => places.push(at),
            Err(error) => found.bad.push(error.context(format!("cannot list {}", place.url))),
        }
    }
    places.extend(group.others().await?.iter().map(|name| place.join(name)));
    for at in places {
        match object_type(&at.context, &at.path).await {
            Ok(Some(ObjectType::Group)) => {
                if let Err(error) = Box::pin(collect(env, &at, depth - 1, found)).await {
                    found.bad.push(error);
                }
            }
            Ok(Some(ObjectType::Array)) => {
                if found.seen.insert(identity(&at)) {
                    found.arrays.push(at.url);
                }
            }
            Ok(None) => found.bad.push(anyhow!(
                "cannot open {}: this member of the group does not exist; restore it, or remove it with `hyperslab group rm`",
                at.url
            )),
            Err(error) => found.bad.push(error.into()),
        }
    }
    Ok(())
}
