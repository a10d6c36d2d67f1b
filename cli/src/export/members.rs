//! The arrays of a group that becomes one file.

use anyhow::Result;
use hyperslab::group::{Group, ObjectType, object_type};

use crate::store::Place;

/// The arrays of a group by name: its members, and those in its folder. Groups within it are only named.
pub(super) async fn arrays(group: &Group, place: &Place) -> Result<(Vec<(String, Place)>, Vec<String>)> {
    let (mut arrays, mut groups) = (Vec::new(), Vec::new());
    let mut add = |name: String, at: Place, kind: Option<ObjectType>| match kind {
        Some(ObjectType::Group) => groups.push(name),
        _ => arrays.push((name, at)),
    };
    for member in &group.members {
        let end = member.uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = member.name.clone().unwrap_or_else(|| end.to_owned());
        let at = if member.relative {
            place.at(&member.uri)
        } else {
            Place::new(&member.uri)?
        };
        add(name, at, member.kind);
    }
    for name in group.others().await? {
        let at = place.join(&name);
        let kind = object_type(&at.context, &at.path).await?;
        add(name, at, kind);
    }
    Ok((arrays, groups))
}
