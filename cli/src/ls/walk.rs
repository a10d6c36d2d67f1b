//! The walk through groups and folders, which finds the items of a listing.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyperslab::group::{Group, Member, ObjectType, object_type};
use hyperslab::internals::array::may_be_array;
use hyperslab::internals::limits::FOLDER_DEPTH_MAX;
use hyperslab::vfs;
use hyperslab::vfs::{Entry, EntryKind};

use super::item::{FOLDER, Item, LEFTOVER, Stray, Summary};
use crate::store::{Env, Place};
use crate::{errors, info, leftovers, time_args};

/// The most arrays, groups and folders that a listing shows.
const ITEMS_MAX: usize = 1 << 17;

/// The state of a walk through folders and groups.
pub(super) struct Walk<'a> {
    env: &'a Env,
    /// Whether all levels are shown.
    deep: bool,
    /// The groups and folders that the walk is inside of, outermost first.
    above: Vec<String>,
    /// Groups and folders whose children are shown.
    seen: HashSet<String>,
    items: usize,
    /// Why the walk ended early: servers may show folders without end.
    pub(super) ended: Option<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(env: &'a Env, deep: bool) -> Self {
        Self {
            env,
            deep,
            above: Vec::new(),
            seen: HashSet::new(),
            items: 0,
            ended: None,
        }
    }

    /// The item at a place and, down to `depth`, the items below it. `None` if it is not an array, group or folder.
    pub(super) async fn item(
        &mut self,
        place: &Place,
        name: &str,
        kind: Option<ObjectType>,
        depth: usize,
    ) -> Result<Option<Item>> {
        self.count(place);
        Ok(match kind {
            Some(ObjectType::Array) => Some(self.array(place, name, depth).await?),
            Some(ObjectType::Group) => Some(self.group(place, name, depth).await?),
            None => self.folder(place, name, depth).await?,
        })
    }

    async fn array(&mut self, place: &Place, name: &str, depth: usize) -> Result<Item> {
        let mut found = Item::new(name, "array");
        let window = time_args::window(None)?;
        match with_or_without_key(self.env, async |env| env.open_at(place, window).await).await {
            Ok(array) => {
                found.kind = info::kind(array.schema());
                found.array = Some(Summary::of(&array));
            }
            Err(e) => found.problem = Some(errors::sentence(&e)),
        }
        if depth > 0 {
            let nested = self.nested(place, depth - 1).await?;
            found.children = Some(nested).filter(|nested| !nested.is_empty());
        }
        Ok(found)
    }

    async fn group(&mut self, place: &Place, name: &str, depth: usize) -> Result<Item> {
        let mut found = Item::new(name, "group");
        let Some(own) = self.enters(place, depth, &mut found) else {
            return Ok(found);
        };
        let window = time_args::window(None)?;
        let open = async |env: &Env| Ok(Group::open(&place.context, &place.path, &env.options(window)).await?);
        match with_or_without_key(self.env, open).await {
            Ok(group) => {
                self.above.push(own);
                let children = self.in_group(place, &group, depth - 1).await;
                self.above.pop();
                found.children = Some(children?);
            }
            Err(e) => found.problem = Some(errors::sentence(&e)),
        }
        Ok(found)
    }

    async fn folder(&mut self, place: &Place, name: &str, depth: usize) -> Result<Option<Item>> {
        let entries = entries(place).await?;
        if entries.is_empty() && !place.local().is_some_and(Path::is_dir) {
            return Ok(None);
        }
        let mut found = Item::new(name, FOLDER);
        if let Some(own) = self.enters(place, depth, &mut found) {
            self.above.push(own);
            found.children = Some(self.entries(place, entries, depth - 1).await);
            self.above.pop();
        }
        Ok(Some(found))
    }

    /// The identity of a group or folder, if the walk goes into it. If not, `found` tells why.
    fn enters(&mut self, place: &Place, depth: usize, found: &mut Item) -> Option<String> {
        let own = identity(place);
        found.circle = self.above.contains(&own);
        found.repeated = !found.circle && self.is_shown(&own, place, depth);
        (depth > 0 && !found.circle && !found.repeated).then_some(own)
    }

    /// The arrays and groups in an array's folder, which readers of that array do not see.
    async fn nested(&mut self, place: &Place, depth: usize) -> Result<Vec<Item>> {
        let mut found = self.entries(place, entries(place).await?, depth).await;
        found.retain(|item| item.kind != FOLDER || item.children.as_ref().is_some_and(|c| !c.is_empty()));
        mark(&mut found, Stray::InArray);
        Ok(found)
    }

    /// The items among the entries of a folder, without the format's own folders. Includes files that killed commands
    /// left.
    async fn entries(&mut self, place: &Place, entries: Vec<Entry>, depth: usize) -> Vec<Item> {
        let mut children = Vec::new();
        for entry in entries {
            if self.ended.is_some() {
                break;
            }
            if entry.kind == EntryKind::Dir && may_be_array(&entry.name) {
                let at = place.join(&entry.name);
                let found = async {
                    let kind = object_type(&at.context, &at.path).await?;
                    Box::pin(self.item(&at, &entry.name, kind, depth)).await
                };
                let found = found.await;
                children.extend(found.unwrap_or_else(|e| Some(Item::unknown(&entry.name, errors::sentence(&e)))));
            }
        }
        let left = place.local().map(leftovers::find).unwrap_or_default();
        children.extend(left.iter().map(|path| Item::leftover(path)));
        children
    }

    async fn in_group(&mut self, place: &Place, group: &Group, depth: usize) -> Result<Vec<Item>> {
        if !group.listed {
            return Ok(self.entries(place, entries(place).await?, depth).await);
        }
        let mut children = self.members(place, group, depth).await;
        children.extend(self.strays(place, group, depth).await?);
        Ok(children)
    }

    async fn members(&mut self, place: &Place, group: &Group, depth: usize) -> Vec<Item> {
        let mut children = Vec::new();
        for member in &group.members {
            if self.ended.is_some() {
                break;
            }
            let name = member.name.as_ref().unwrap_or(&member.uri);
            let found = async {
                let at = member_place(place, member)?;
                // A missing member is shown with the kind that the group gives it.
                let kind = object_type(&at.context, &at.path).await.ok().flatten().or(member.kind);
                match kind {
                    Some(_) => Box::pin(self.item(&at, name, kind, depth)).await,
                    None => bail!("nothing is at {}; put it back, or `hyperslab group rm` it", at.url),
                }
            };
            let found = found.await;
            children.extend(found.unwrap_or_else(|e| Some(Item::unknown(name, errors::sentence(&e)))));
        }
        children
    }

    /// Arrays and groups in a group's folder that are not members of the group.
    async fn strays(&mut self, place: &Place, group: &Group, depth: usize) -> Result<Vec<Item>> {
        let others = group.others().await;
        let others = others.with_context(|| format!("cannot list {}", place.url))?;
        let mut entries = entries(place).await?;
        entries.retain(|e| others.contains(&e.name));
        let mut found = self.entries(place, entries, depth).await;
        mark(&mut found, Stray::NoMember);
        Ok(found)
    }

    /// Counts an item, and ends the walk if there are too many.
    fn count(&mut self, place: &Place) {
        self.items += 1;
        if self.items >= ITEMS_MAX {
            self.end(
                place,
                format_args!("no more than {ITEMS_MAX} arrays, groups and folders are shown"),
            );
        }
    }

    /// Whether the members of a group or folder are listed already. If not, marks them as listed, unless it is too
    /// deep.
    fn is_shown(&mut self, own: &str, place: &Place, depth: usize) -> bool {
        if depth > 0 {
            return !self.seen.insert(own.to_owned());
        }
        if self.deep {
            self.end(
                place,
                format_args!("folders are nested more than {FOLDER_DEPTH_MAX} levels deep"),
            );
        }
        false
    }

    fn end(&mut self, place: &Place, why: std::fmt::Arguments<'_>) {
        let told = || format!("{}: {why}; name a folder or group within", place.url);
        self.ended.get_or_insert_with(told);
    }
}

async fn entries(place: &Place) -> Result<Vec<Entry>> {
    let entries = place.context.vfs.list(&place.path).await;
    entries.with_context(|| format!("cannot list {}", place.url))
}

fn mark(items: &mut [Item], stray: Stray) {
    let items = items.iter_mut().filter(|item| item.kind != LEFTOVER);
    items.for_each(|item| item.stray = Some(stray));
}

/// Opens with the key, or without it if the array or group is not encrypted. One folder may hold both.
pub(crate) async fn with_or_without_key<T>(env: &Env, open: impl AsyncFn(&Env) -> Result<T>) -> Result<T> {
    let needless = |e: &anyhow::Error| {
        let mut causes = e.chain().filter_map(|c| c.downcast_ref());
        causes.any(|e| matches!(e, hyperslab::Error::Key { wanted: false, .. }))
    };
    match open(env).await {
        Err(e) if needless(&e) => open(&env.without_key()).await,
        opened => opened,
    }
}

/// The place of a member of a group.
pub(crate) fn member_place(group: &Place, member: &Member) -> Result<Place> {
    match (member.relative, member.uri.split('/').any(|p| p == "..")) {
        (true, false) => Ok(group.at(&member.uri)),
        // Outside the group's folder, and perhaps outside its store.
        (true, true) => Place::new(&group.at(&member.uri).url),
        (false, _) if group.local().is_none() && vfs::local_path(&member.uri).is_some() => {
            bail!(
                "the group names {}, a path of the machine that it was made on",
                member.uri
            )
        }
        (false, _) => Place::new(&member.uri),
    }
}

/// Tells a group or folder from all others, whatever path it was named by.
pub(crate) fn identity(place: &Place) -> String {
    let local = place.local().and_then(|p| p.canonicalize().ok());
    local.map_or_else(
        || place.url.trim_end_matches('/').to_owned(),
        |p| p.display().to_string(),
    )
}
