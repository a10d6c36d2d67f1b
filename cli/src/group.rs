//! `group`: groups and their members.

use anyhow::{Context as _, Result, ensure};
use hyperslab::group::{
    Group as Opened, GroupChange, GroupMember, Member, MemberKind, ObjectType, change_group, create_group, group_time,
    object_type,
};
use hyperslab::vfs::{join, last_part, path_within, redact};
use hyperslab::{Window, WriteOptions};
use serde_json::{Value, json};

use crate::args::Group;
use crate::build::Building;
use crate::errors::usage;
use crate::ls::{identity, member_place};
use crate::store::{Env, Place, seed};
use crate::time_args::{self, Moment};
use crate::{dry_run, show};

/// Runs the command.
pub(crate) async fn group(env: &Env, command: &Group) -> Result<()> {
    match command {
        Group::Create { path } => {
            let building = Building::start(&Place::new(path)?).await?;
            let made = create_group(&building.place().context, &building.place().path).await;
            building
                .end(made.with_context(|| format!("cannot create the group {path}")))
                .await
        }
        Group::Add {
            path,
            member,
            name,
            timestamp,
        } => {
            let added = resolve(path, member, name.clone()).await?;
            if is_member(env, path, &added).await? && timestamp.is_none() {
                return Ok(());
            }
            change(env, path, GroupChange::Add(added), *timestamp, false).await
        }
        Group::Rm {
            path,
            member,
            dry_run,
            timestamp,
        } => {
            change(env, path, GroupChange::Remove(member.clone()), *timestamp, *dry_run).await?;
            if *dry_run {
                show::line(format_args!("{}: '{member}' would be removed", redact(path)))?;
            }
            Ok(())
        }
        Group::Ls { path, json, at } => {
            let place = Place::new(path)?;
            let opened = Opened::open(&place.context, &place.path, &env.options(time_args::window(*at)?)).await;
            let opened = opened.with_context(|| format!("cannot open {path}"))?;
            let kind = |k: Option<ObjectType>| k.map_or("unknown", ObjectType::name);
            if *json {
                let list = opened
                    .members
                    .iter()
                    .map(|m| json!({"name": m.name, "type": kind(m.kind), "uri": m.uri, "relative": m.relative}));
                show::line(format_args!("{:#}", list.collect::<Value>()))
            } else {
                let row = |m: &Member| {
                    vec![
                        m.name.clone().unwrap_or_default(),
                        kind(m.kind).to_owned(),
                        m.uri.clone(),
                    ]
                };
                show::table(&[], opened.members.iter().map(row).collect())
            }
        }
    }
}

/// Finds the member at a path or URL or, if nothing exists there, at that path in the group's folder. A member in the
/// group's folder gets a relative URI, so that both can move together.
async fn resolve(group: &str, member: &str, name: Option<String>) -> Result<GroupMember> {
    if let Some(name) = name
        .as_deref()
        .filter(|n| n.contains('/') || matches!(*n, "" | "." | ".."))
    {
        return Err(usage(
            "--name",
            format!("'{name}' is not a valid name; names are not empty, . or .., and have no /"),
        ));
    }
    let group = Place::new(group)?;
    let (mut place, mut kind) = look(Place::new(member)?).await?;
    if kind.is_none() && !member.contains("://") && !member.starts_with('/') {
        (place, kind) = look(group.join(member)).await?;
    }
    let kind = kind.with_context(|| {
        format!(
            "cannot add {member}: no array or group found, neither from the current folder nor in the group's; check the \
             path"
        )
    })?;
    let uri = place.location();
    let inside = path_within(&group.location(), &uri).filter(|path| !path.is_empty());
    let relative = inside.is_some();
    let uri = inside.unwrap_or(uri);
    let last = || last_part(uri.trim_end_matches('/')).to_owned();
    let name = Some(name.unwrap_or_else(last));
    Ok(GroupMember {
        kind,
        relative,
        uri,
        name,
        deleted: false,
    })
}

/// Whether the group has this member already.
///
/// # Errors
/// Another member has its name.
async fn is_member(env: &Env, path: &str, added: &GroupMember) -> Result<bool> {
    let group = Place::new(path)?;
    let opened = Opened::open(&group.context, &group.path, &env.options(Window::ALL)).await;
    let opened = opened.with_context(|| format!("cannot open {path}"))?;
    let name = added.key();
    let has_key = |m: &Member| match &m.name {
        Some(known) => known == name,
        None if m.relative => m.uri == join(&group.path, name),
        None => m.uri == name,
    };
    let Some(known) = opened.members.into_iter().find(has_key) else {
        return Ok(false);
    };
    let new = Member {
        name: added.name.clone(),
        uri: if added.relative {
            join(&group.path, &added.uri)
        } else {
            added.uri.clone()
        },
        relative: added.relative,
        kind: known.kind,
    };
    let (at, same) = match (member_place(&group, &known), member_place(&group, &new)) {
        (Ok(known), Ok(new)) => (known.url.clone(), identity(&known) == identity(&new)),
        _ => (known.uri.clone(), known.uri == new.uri),
    };
    ensure!(
        same,
        "cannot change the group {path}: the group has a member '{name}' already, at {at}; run `hyperslab group rm \
         {path} {name}` first, or choose another --name"
    );
    Ok(known.name.is_some())
}

/// Finds out whether an array or a group is at a place.
async fn look(place: Place) -> Result<(Place, Option<MemberKind>)> {
    let found = object_type(&place.context, &place.path).await;
    let kind = match found.with_context(|| format!("cannot access {}", place.url))? {
        Some(ObjectType::Array) => Some(MemberKind::Array),
        Some(ObjectType::Group) => Some(MemberKind::Group),
        None => None,
    };
    Ok((place, kind))
}

async fn change(env: &Env, path: &str, change: GroupChange, timestamp: Option<Moment>, dry_run: bool) -> Result<()> {
    let place = dry_run::place_to_change(env, path, dry_run)?;
    let failed = || format!("cannot change the group {path}");
    let time = time_args::of_change(timestamp, async |now| {
        group_time(&place.context, &place.path, now).await
    });
    let options = WriteOptions {
        timestamp_ms: time.await.with_context(failed)?,
        seed: seed()?,
        sync: true,
    };
    let done = change_group(&place.context, &place.path, &[change], env.key.as_ref(), &options).await;
    done.with_context(failed)
}
