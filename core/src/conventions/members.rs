//! Finds the members of a group: by their paths below it, or by the last parts of URIs that do not open any more.

use super::driver::Scope;
use super::object::{Member, Object};
use crate::vfs::{join, last_part};

/// The most parts of a stale URI that are tried below the group.
const PARTS_MAX: usize = 3;
/// The most members of one group that are looked at.
const MEMBERS_MAX: usize = 512;

/// A member that exists.
#[derive(Clone)]
pub(super) struct Found<'a> {
    /// Its name, or the last part of its path.
    pub(super) name: String,
    /// Its path.
    pub(super) path: String,
    /// The member itself.
    pub(super) object: &'a Object,
    /// Whether the group lists it.
    pub(super) listed: bool,
}

/// The members of the group at `path` that exist, sorted by name. Notes the others.
pub(super) fn members<'a>(scope: &Scope<'a>, path: &str, group: &'a Object) -> Vec<Found<'a>> {
    let all = group.members();
    if all.len() > MEMBERS_MAX {
        scope.note_at(
            path,
            &format!("only the first {MEMBERS_MAX} of {} members were looked at", all.len()),
        );
    }
    let (mut found, mut moved): (Vec<Found<'a>>, Vec<String>) = (Vec::new(), Vec::new());
    for member in all.iter().take(MEMBERS_MAX) {
        let Some((at, object)) = locate(scope, path, member) else {
            continue;
        };
        let name = member.name.clone().unwrap_or_else(|| last_part(&at).to_owned());
        if !member.relative {
            moved.push(at.clone());
        }
        if found.iter().all(|f| f.path != at) {
            let listed = member.listed;
            found.push(Found {
                name,
                path: at,
                object,
                listed,
            });
        }
    }
    if !moved.is_empty() {
        let text = "members have absolute URIs outside of the group; what has the same last names below it was taken";
        scope.note_at(path, &format!("{text}: {}", moved.join(", ")));
    }
    found.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    found
}

fn locate<'a>(scope: &Scope<'a>, group: &str, member: &Member) -> Option<(String, &'a Object)> {
    let candidates: Vec<String> = match member.relative {
        true => resolve(group, &member.uri).into_iter().collect(),
        false => last_parts(&member.uri)
            .iter()
            .filter_map(|p| resolve(group, p))
            .collect(),
    };
    let inside = |at: &&String| group.is_empty() && !at.starts_with("..") || at.starts_with(&format!("{group}/"));
    let candidates: Vec<&String> = candidates
        .iter()
        .filter(inside)
        .filter(|at| *at != group && !at.is_empty())
        .collect();
    // All are asked for before any is looked at, so that they are fetched at the same time.
    let objects: Vec<_> = candidates.iter().map(|at| (*at, scope.object(at))).collect();
    let found = objects.into_iter().find_map(|(at, object)| Some((at.clone(), object?)));
    let shown = member.name.as_deref().unwrap_or(&member.uri);
    if candidates.is_empty() {
        scope.note_at(
            group,
            &format!("member '{shown}' is not below the group and was left out"),
        );
    } else if found.is_none()
        && let Some(why) = candidates.last().and_then(|at| scope.why_missing(at))
    {
        scope.note_at(group, &format!("member '{shown}' was left out: {why}"));
    }
    found
}

/// The last one, two and three parts of a URI, longest first.
fn last_parts(uri: &str) -> Vec<String> {
    let path = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let counts = (1..=PARTS_MAX.min(parts.len())).rev();
    counts
        .filter_map(|n| Some(parts.get(parts.len() - n..)?.join("/")))
        .collect()
}

/// The path `relative` seen from `base`, without `.` and, where they cancel, without `..`. `None` if it is too long.
pub(super) fn resolve(base: &str, relative: &str) -> Option<String> {
    if base.len() + relative.len() > 1 << 12 || relative.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(relative.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The path of a sibling of the object at `path`.
pub(super) fn sibling(path: &str, name: &str) -> Option<String> {
    resolve(&join(path, ".."), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_resolve_lexically() {
        assert_eq!(resolve("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(resolve("", "../c/./d").as_deref(), Some("../c/d"));
        assert_eq!(resolve("a", "../../c").as_deref(), Some("../c"));
        assert_eq!(sibling("", "lat").as_deref(), Some("../lat"));
        assert_eq!(last_parts("file:///tmp/g/l/t"), ["g/l/t", "l/t", "t"]);
        assert_eq!(last_parts("s3://"), Vec::<String>::new());
    }
}
