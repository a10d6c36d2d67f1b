//! `ls` and `tree`: arrays and groups, with shapes and types.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyperslab::CellCount;
use hyperslab::array::{Array, Group, Member, ObjectType, may_be_array, object_type};
use hyperslab::format::attribute::Attribute;
use hyperslab::limits::FOLDER_DEPTH_MAX;
use hyperslab::vfs::{self, Entry, EntryKind, join, redact};
use serde_json::{Value, json};

use crate::args::Ls;
use crate::store::{Env, Place};
use crate::{failure, info, leftovers, show, sizes, when};

/// The most arrays, groups and folders that are shown.
const ITEMS_MAX: usize = 1 << 17;

/// The kind of folders that are neither an array nor a group.
const FOLDER: &str = "folder";
const LEFTOVER: &str = "leftover";

/// One line of a listing.
struct Item {
    name: String,
    kind: &'static str,
    array: Option<Summary>,
    /// Why it could not be read.
    problem: Option<String>,
    /// Whether it is one of its own parents, so that its members are not listed again.
    circle: bool,
    /// Whether its members are listed above, because it has occurred before.
    repeated: bool,
    /// A location where it is easy to miss.
    stray: Option<Stray>,
    /// Its members; `None` if they were not read.
    children: Option<Vec<Item>>,
}

/// Locations where arrays and groups are easy to miss.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stray {
    /// In the folder of a group, but not a member of it.
    NoMember,
    /// In the folder of an array.
    InArray,
}

/// The summary of an array.
struct Summary {
    /// Cells along each dimension of a dense array.
    shape: Option<Vec<u64>>,
    dimensions: Vec<String>,
    attributes: Vec<Attribute>,
    /// The cells that were written, summed over all fragments.
    cells: u64,
    bytes: u64,
    fragments: usize,
    deletes: usize,
}

/// The state of the walk through groups and folders.
#[derive(Default)]
struct Walk {
    /// Whether all levels are shown.
    deep: bool,
    /// Groups and folders whose children are shown.
    seen: HashSet<String>,
    items: usize,
    /// Why the walk has ended early: a server may list folders without end.
    ended: Option<String>,
}

/// Lists one level, or all of them.
pub(crate) async fn ls(env: &Env, args: &Ls, deep: bool) -> Result<()> {
    let place = Place::new(&args.path)?;
    if place.local().is_some_and(Path::is_file) {
        bail!(
            "cannot list {0}: it is a file; name a folder, or make an array of it with `hyperslab import {0} ARRAY`",
            args.path
        );
    }
    let depth = if deep { FOLDER_DEPTH_MAX } else { 1 };
    let kind = object_type(&place.context, &place.path)
        .await
        .with_context(|| format!("cannot list {}", args.path))?;
    let mut walk = Walk {
        deep,
        ..Walk::default()
    };
    let top = item(
        env,
        &place,
        redact(&args.path).into_owned(),
        kind,
        depth,
        &[],
        &mut walk,
    )
    .await?;
    let Some(top) = top else {
        bail!("{}: there is no array, group or folder; check the path", args.path)
    };
    if args.json {
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
    let mut bad = Vec::new();
    if deep {
        top.problems("", &mut bad);
    } else {
        top.listed().iter().for_each(|i| i.problems("", &mut bad));
    }
    bad.extend(walk.ended);
    let Some(last) = bad.pop() else { return Ok(()) };
    bad.iter()
        .for_each(|problem| show::complaint(format_args!("hyperslab: {problem}")));
    bail!(last)
}

/// Reads what is at a place and, down to `depth` levels, below it. `None` if it is no array, group or folder.
/// `above` are the groups on the path to it.
async fn item(
    env: &Env,
    place: &Place,
    name: String,
    kind: Option<ObjectType>,
    depth: usize,
    above: &[String],
    walk: &mut Walk,
) -> Result<Option<Item>> {
    walk.count(place);
    let mut found = Item {
        name,
        kind: FOLDER,
        array: None,
        problem: None,
        circle: false,
        repeated: false,
        stray: None,
        children: None,
    };
    match kind {
        Some(ObjectType::Array) => {
            found.kind = "array";
            let window = when::window(None)?;
            match with_or_without_key(env, async |env| env.open_at(place, window).await).await {
                Ok(array) => {
                    found.kind = info::kind(array.schema());
                    found.array = Some(Summary::of(&array));
                }
                Err(e) => found.problem = Some(failure::sentence(&e)),
            }
            if depth > 0 {
                let nested = nested(env, place, depth - 1, above, walk).await?;
                found.children = Some(nested).filter(|nested| !nested.is_empty());
            }
        }
        Some(ObjectType::Group) => {
            found.kind = "group";
            let own = identity(place);
            found.circle = above.contains(&own);
            found.repeated = !found.circle && walk.is_shown(&own, place, depth);
            if depth > 0 && !found.circle && !found.repeated {
                let above = &[above, &[own]].concat();
                let window = when::window(None)?;
                let open = async |env: &Env| Ok(Group::open(&place.context, &place.path, &env.options(window)).await?);
                match with_or_without_key(env, open).await {
                    Ok(group) if !group.listed => {
                        let entries = entries(place).await?;
                        found.children = Some(folders(env, place, entries, depth - 1, above, walk).await);
                    }
                    Ok(group) => {
                        let mut children = members(env, place, &group, depth - 1, above, walk).await;
                        children.extend(strays(env, place, &group, depth - 1, above, walk).await?);
                        found.children = Some(children);
                    }
                    Err(e) => found.problem = Some(failure::sentence(&e)),
                }
            }
        }
        None => {
            let entries = entries(place).await?;
            if entries.is_empty() && !place.local().is_some_and(Path::is_dir) {
                return Ok(None);
            }
            let own = identity(place);
            found.circle = above.contains(&own);
            found.repeated = !found.circle && walk.is_shown(&own, place, depth);
            if depth > 0 && !found.circle && !found.repeated {
                let above = &[above, &[own]].concat();
                found.children = Some(folders(env, place, entries, depth - 1, above, walk).await);
            }
        }
    }
    Ok(Some(found))
}

/// Calls `open` with the key, and again without it if the array or group is not encrypted: a folder may have both
/// kinds.
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

async fn entries(place: &Place) -> Result<Vec<Entry>> {
    let entries = place.context.vfs.list(&place.path).await;
    entries.with_context(|| format!("cannot list {}", place.url))
}

/// The arrays and groups in an array's folder, which readers of that array do not see.
async fn nested(env: &Env, place: &Place, depth: usize, above: &[String], walk: &mut Walk) -> Result<Vec<Item>> {
    let mut found = folders(env, place, entries(place).await?, depth, above, walk).await;
    found.retain(|item| item.kind != FOLDER || item.children.as_ref().is_some_and(|c| !c.is_empty()));
    mark(&mut found, Stray::InArray);
    Ok(found)
}

/// Lists a folder without the format's own folders, but with the leftovers of killed commands.
async fn folders(
    env: &Env,
    place: &Place,
    entries: Vec<Entry>,
    depth: usize,
    above: &[String],
    walk: &mut Walk,
) -> Vec<Item> {
    let mut children = Vec::new();
    for entry in entries {
        if walk.ended.is_some() {
            break;
        }
        if entry.kind == EntryKind::Dir && may_be_array(&entry.name) {
            let at = place.join(&entry.name);
            let found = async {
                let kind = object_type(&at.context, &at.path).await?;
                Box::pin(item(env, &at, entry.name.clone(), kind, depth, above, walk)).await
            };
            let found = found.await;
            children.extend(found.unwrap_or_else(|e| Some(Item::unknown(&entry.name, failure::sentence(&e)))));
        }
    }
    let left = place.local().map(leftovers::find).unwrap_or_default();
    children.extend(left.iter().map(|path| Item::leftover(path)));
    children
}

async fn members(
    env: &Env,
    place: &Place,
    group: &Group,
    depth: usize,
    above: &[String],
    walk: &mut Walk,
) -> Vec<Item> {
    let mut children = Vec::new();
    for member in &group.members {
        if walk.ended.is_some() {
            break;
        }
        let name = member.name.as_ref().unwrap_or(&member.uri);
        let found = async {
            let at = member_place(place, member)?;
            // A missing member is shown with the kind that the group stores for it.
            let kind = object_type(&at.context, &at.path).await.ok().flatten().or(member.kind);
            match kind {
                Some(_) => Box::pin(item(env, &at, name.clone(), kind, depth, above, walk)).await,
                None => bail!("nothing is at {}; put it back, or `hyperslab group rm` it", at.url),
            }
        };
        let found = found.await;
        children.extend(found.unwrap_or_else(|e| Some(Item::unknown(name, failure::sentence(&e)))));
    }
    children
}

/// Arrays and groups in a group's folder that are not members of the group.
async fn strays(
    env: &Env,
    place: &Place,
    group: &Group,
    depth: usize,
    above: &[String],
    walk: &mut Walk,
) -> Result<Vec<Item>> {
    let others = group.others().await;
    let others = others.with_context(|| format!("cannot list {}", place.url))?;
    let mut entries = entries(place).await?;
    entries.retain(|e| others.contains(&e.name));
    let mut found = folders(env, place, entries, depth, above, walk).await;
    mark(&mut found, Stray::NoMember);
    Ok(found)
}

fn mark(items: &mut [Item], stray: Stray) {
    let items = items.iter_mut().filter(|item| item.kind != LEFTOVER);
    items.for_each(|item| item.stray = Some(stray));
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

/// Identifies a group, whatever path it was opened by.
pub(crate) fn identity(place: &Place) -> String {
    let local = place.local().and_then(|p| p.canonicalize().ok());
    local.map_or_else(
        || place.url.trim_end_matches('/').to_owned(),
        |p| p.display().to_string(),
    )
}

impl Walk {
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

impl Summary {
    fn of(array: &Array) -> Self {
        let schema = array.schema();
        let length = |d| u64::try_from(show::length(schema.limits(d)?)?).ok();
        let shape = || (0..schema.dimensions.len()).map(length).collect();
        Self {
            shape: if schema.is_dense() { shape() } else { None },
            dimensions: schema.dimensions.iter().map(|d| d.name.clone()).collect(),
            attributes: schema.attributes.clone(),
            cells: sizes::total(array.fragments().iter().map(|f| f.cells)),
            bytes: sizes::total(array.fragments().iter().map(|f| f.bytes)),
            fragments: array.fragments().len(),
            deletes: array.delete_times().len(),
        }
    }

    /// `344 × 403`, or `9 cells by x, y`.
    fn extent(&self, kind: &str) -> String {
        match &self.shape {
            Some(lengths) => lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(" × "),
            None if kind == "dense" => String::new(),
            None => format!("{} cells by {}", self.cells, self.dimensions.join(", ")),
        }
    }

    fn fields(&self) -> String {
        let attributes: Vec<_> = self.attributes.iter().map(show::attribute).collect();
        format!(
            "{}  ({}, {})",
            show::shorten(&attributes.join(", "), 100),
            sizes::show(self.bytes),
            show::count(self.fragments as u64, "fragment") + &self.deletes()
        )
    }

    /// A note that the count includes deleted cells.
    fn deletes(&self) -> String {
        match self.deletes {
            0 => String::new(),
            n => format!(", {} not subtracted", show::count(n as u64, "delete")),
        }
    }

    fn json(&self) -> Value {
        let attribute = |a: &Attribute| {
            let cell = match a.cell {
                CellCount::Fixed(n) => json!(n),
                CellCount::Var => json!("var"),
            };
            json!({"name": a.name, "type": a.datatype.to_string(), "cell": cell, "nullable": a.nullable})
        };
        json!({
            "shape": self.shape,
            "dimensions": self.dimensions,
            "attributes": self.attributes.iter().map(attribute).collect::<Vec<_>>(),
            "cells": self.cells,
            "bytes": self.bytes,
            "fragments": self.fragments,
            "deletes": self.deletes,
        })
    }
}

impl Item {
    /// An item that could not be read.
    fn unknown(name: &str, problem: String) -> Self {
        Self {
            name: name.to_owned(),
            kind: "unknown",
            array: None,
            problem: Some(problem),
            circle: false,
            repeated: false,
            stray: None,
            children: None,
        }
    }

    /// A leftover of a killed command.
    fn leftover(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            kind: LEFTOVER,
            problem: None,
            ..Self::unknown(&name, String::new())
        }
    }

    fn children(&self) -> &[Self] {
        self.children.as_deref().unwrap_or(&[])
    }

    /// Adds its error and those of its members, each with its path below `folder`.
    fn problems(&self, folder: &str, out: &mut Vec<String>) {
        let path = join(folder, &self.name);
        out.extend(self.problem.iter().map(|problem| format!("{path}: {problem}")));
        self.children().iter().for_each(|child| child.problems(&path, out));
    }

    fn is_array(&self) -> bool {
        matches!(self.kind, "dense" | "sparse" | "array")
    }

    /// The items that `ls` lists: its members, or itself if it is an array.
    fn listed(&self) -> &[Self] {
        if self.is_array() {
            std::slice::from_ref(self)
        } else {
            self.children()
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let circle = self.circle.then_some("it is this group, or one above it");
        let circle = circle.or(self.repeated.then_some("its members are shown above"));
        let stray = self.stray.map(|stray| match stray {
            Stray::NoMember => "no member of the group",
            Stray::InArray => "inside an array, whose readers do not see it; move it out",
        });
        let left = (self.kind == LEFTOVER).then_some("of a killed command; the next import or create here removes it");
        let stray = stray.or(left);
        let remarks = [self.problem.as_deref().or(circle), stray].into_iter().flatten();
        let remarks = remarks.map(|remark| format!("({remark})"));
        let array = self.array.as_ref();
        let fields: Vec<String> = array.map(Summary::fields).into_iter().chain(remarks).collect();
        vec![
            name.to_owned(),
            self.kind.to_owned(),
            array.map_or_else(String::new, |a| a.extent(self.kind)),
            fields.join("  "),
        ]
    }

    fn branches(&self, indent: &str, rows: &mut Vec<Vec<String>>) {
        for (i, child) in self.children().iter().enumerate() {
            let last = i + 1 == self.children().len();
            rows.push(child.row(&format!("{indent}{} {}", if last { "└─" } else { "├─" }, child.name)));
            child.branches(&format!("{indent}{}  ", if last { " " } else { "│" }), rows);
        }
    }

    fn json(&self) -> Value {
        let mut value = json!({"name": self.name, "type": self.kind});
        if let Some(map) = value.as_object_mut() {
            if let Some(Value::Object(array)) = self.array.as_ref().map(Summary::json) {
                map.extend(array);
            }
            if let Some(problem) = &self.problem {
                map.insert("error".into(), problem.clone().into());
            }
            if self.circle {
                map.insert("circle".into(), true.into());
            }
            if self.repeated {
                map.insert("repeated".into(), true.into());
            }
            if self.stray == Some(Stray::NoMember) {
                map.insert("member".into(), false.into());
            }
            if let Some(children) = &self.children {
                map.insert("children".into(), children.iter().map(Self::json).collect());
            }
        }
        value
    }
}
