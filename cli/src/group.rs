//! `group`: groups and their members.

use anyhow::{Context as _, Result, bail};
use hyperslab::array::{Group as Opened, ObjectType, object_type};
use hyperslab::format::group::{GroupMember, MemberKind};
use hyperslab::maintain::{GroupChange, change_group, create_group};
use hyperslab::vfs::last_part;
use hyperslab::write::WriteOptions;
use serde_json::{Value, json};

use crate::args::Group;
use crate::build::Building;
use crate::show;
use crate::store::{Env, Place, seed};
use crate::when::{self, Moment};

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
            change(env, path, GroupChange::Add(added), *timestamp).await
        }
        Group::Rm {
            path,
            member,
            timestamp,
        } => change(env, path, GroupChange::Remove(member.clone()), *timestamp).await,
        Group::Ls { path, json, at } => {
            let place = Place::new(path)?;
            let opened = Opened::open(&place.context, &place.path, &env.options(when::window(*at)?)).await;
            let opened = opened.with_context(|| format!("cannot open {path}"))?;
            let kind = |k: Option<ObjectType>| k.map_or("unknown", ObjectType::name);
            if *json {
                let list = opened
                    .members
                    .iter()
                    .map(|m| json!({"name": m.name, "type": kind(m.kind), "uri": m.uri, "relative": m.relative}));
                show::line(format_args!("{:#}", list.collect::<Value>()))
            } else {
                let row = |m: &hyperslab::array::Member| {
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

/// The member that a path within the group's folder, or a path or URL elsewhere, names.
async fn resolve(group: &str, member: &str, name: Option<String>) -> Result<GroupMember> {
    let inside = relative(group, member);
    let place = match &inside {
        Some(inside) => Place::new(group)?.join(inside),
        None => Place::new(member)?,
    };
    let kind = match object_type(&place.context, &place.path)
        .await
        .with_context(|| format!("cannot look at {member}"))?
    {
        Some(ObjectType::Array) => MemberKind::Array,
        Some(ObjectType::Group) => MemberKind::Group,
        None => bail!("{member}: there is no array or group; members within {group} are named relative to it"),
    };
    let uri = match &inside {
        Some(inside) => inside.clone(),
        None => absolute(&place)?,
    };
    let last = || last_part(uri.trim_end_matches('/')).to_owned();
    let name = Some(name.unwrap_or_else(last));
    Ok(GroupMember {
        kind,
        relative: inside.is_some(),
        uri,
        name,
        deleted: false,
    })
}

/// `member` as a path within `group`, if it is one: written so, or spelled out.
fn relative(group: &str, member: &str) -> Option<String> {
    let plain = |p: &str| !p.split('/').any(|c| matches!(c, "" | "." | ".."));
    let group = group.trim_end_matches('/');
    let member = member.trim_end_matches('/');
    if let Some(rest) = member.strip_prefix(group).and_then(|r| r.strip_prefix('/')) {
        return plain(rest).then(|| rest.to_owned());
    }
    (!member.contains("://") && !member.starts_with('/') && plain(member)).then(|| member.to_owned())
}

fn absolute(place: &Place) -> Result<String> {
    match place.local() {
        Some(path) => Ok(format!("file://{}", std::path::absolute(path)?.display())),
        None => Ok(place.url.clone()),
    }
}

async fn change(env: &Env, path: &str, change: GroupChange, timestamp: Option<Moment>) -> Result<()> {
    let place = Place::new(path)?;
    env.will_change(&place);
    let options = WriteOptions {
        timestamp_ms: when::or_now(timestamp)?,
        seed: seed()?,
        sync: true,
    };
    let done = change_group(&place.context, &place.path, &[change], env.key.as_ref(), &options).await;
    done.with_context(|| format!("cannot change the group {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_within_the_group_are_relative() {
        assert_eq!(relative("g", "a"), Some("a".into()));
        assert_eq!(relative("g/", "g/a/b"), Some("a/b".into()));
        assert_eq!(relative("s3://x/g", "s3://x/g/a"), Some("a".into()));
        assert_eq!(relative("g", "../a"), None);
        assert_eq!(relative("g", "/a"), None);
        assert_eq!(relative("g", "s3://x/a"), None);
    }
}
