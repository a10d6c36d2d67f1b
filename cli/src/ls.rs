//! `ls` and `tree`: arrays and groups, with shapes and types.

use anyhow::{Context as _, Result, bail};
use hyperslab::Window;
use hyperslab::array::{Array, Group, ObjectType, object_type};
use hyperslab::vfs::EntryKind;
use serde_json::{Value, json};

use crate::args::Ls;
use crate::store::{Env, Place};
use crate::{failure, info, show, sizes};

/// Groups within groups and folders within folders, before it is taken for a circle.
const DEPTH_MAX: usize = 64;

/// One line of a listing.
struct Item {
    name: String,
    kind: &'static str,
    shape: String,
    fields: String,
    children: Vec<Item>,
}

/// Lists one level, or all of them.
pub(crate) async fn ls(env: &Env, args: &Ls, deep: bool) -> Result<()> {
    let place = Place::new(&args.path)?;
    let depth = if deep { DEPTH_MAX } else { 1 };
    let kind = object_type(&place.context, &place.path)
        .await
        .with_context(|| format!("cannot list {}", args.path))?;
    let top = item(env, &place, args.path.clone(), kind, depth).await?;
    let Some(top) = top else {
        bail!("{}: there is no array, group or folder", args.path)
    };
    if args.json {
        let json = if deep {
            top.json()
        } else {
            top.listed().iter().map(Item::json).collect()
        };
        show::line(format_args!("{json:#}"))
    } else if deep {
        let mut rows = vec![top.row(&top.name)];
        top.branches("", &mut rows);
        show::table(&[], rows)
    } else {
        show::table(&[], top.listed().iter().map(|i| i.row(&i.name)).collect())
    }
}

/// What lies at a place and, down to `depth`, below it. `None` for what is neither array, group nor folder.
async fn item(env: &Env, place: &Place, name: String, kind: Option<ObjectType>, depth: usize) -> Result<Option<Item>> {
    let mut found = Item {
        name,
        kind: "folder",
        shape: String::new(),
        fields: String::new(),
        children: Vec::new(),
    };
    match kind {
        Some(ObjectType::Array) => {
            found.kind = "array";
            match env.open_at(place, Window::ALL).await {
                Ok(array) => describe(&mut found, &array),
                Err(e) => found.fields = format!("({})", failure::sentence(&e)),
            }
        }
        Some(ObjectType::Group) => {
            found.kind = "group";
            if depth > 0 {
                match Group::open(&place.context, &place.path, &env.options(Window::ALL)).await {
                    Ok(group) => found.children = members(env, place, &group, depth - 1).await?,
                    Err(e) => found.fields = format!("({e})"),
                }
            }
        }
        None => {
            let entries = place
                .context
                .vfs
                .list(&place.path)
                .await
                .with_context(|| format!("cannot list {}", place.url))?;
            if entries.is_empty() && !place.local().is_some_and(std::path::Path::is_dir) {
                return Ok(None);
            }
            for entry in entries
                .iter()
                .filter(|e| depth > 0 && e.kind == EntryKind::Dir && !e.name.starts_with('.'))
            {
                let child = place.join(&entry.name);
                let kind = object_type(&child.context, &child.path).await?;
                let child = Box::pin(item(env, &child, entry.name.clone(), kind, depth - 1)).await?;
                found.children.extend(child);
            }
        }
    }
    Ok(Some(found))
}

async fn members(env: &Env, place: &Place, group: &Group, depth: usize) -> Result<Vec<Item>> {
    let mut children = Vec::new();
    for member in &group.members {
        let name = member.name.clone().unwrap_or_else(|| member.uri.clone());
        let at = match (member.relative, member.uri.split('/').any(|p| p == "..")) {
            (true, false) => Place {
                url: member.uri.clone(),
                context: place.context.clone(),
                path: member.uri.clone(),
            },
            // Outside the group's folder, and so outside its store.
            (true, true) => Place::new(&format!("{}/{}", place.url.trim_end_matches('/'), member.uri))?,
            (false, _) => Place::new(&member.uri)?,
        };
        // A member that is gone is shown as what the group says it was.
        let kind = object_type(&at.context, &at.path).await.ok().flatten().or(member.kind);
        let found = match kind {
            Some(_) => Box::pin(item(env, &at, name, kind, depth)).await?,
            None => Some(Item::absent(name)),
        };
        children.extend(found);
    }
    Ok(children)
}

fn describe(item: &mut Item, array: &Array) {
    let schema = array.schema();
    let domain = || {
        schema
            .dimensions
            .iter()
            .map(|d| d.domain.clone())
            .collect::<Option<Vec<_>>>()
    };
    let current = schema.current_domain.as_ref().map(|c| c.ranges.clone());
    item.kind = if schema.is_dense() { "dense" } else { "sparse" };
    item.shape = if schema.is_dense() {
        current
            .or_else(domain)
            .and_then(|d| show::shape(&d))
            .unwrap_or_default()
    } else {
        let cells: u64 = array.fragments().iter().map(|f| f.cells).sum();
        let names: Vec<_> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
        format!("{cells} cells by {}", names.join(", "))
    };
    let bytes: u64 = array.fragments().iter().map(|f| f.bytes).sum();
    let attributes: Vec<_> = schema.attributes.iter().map(show::attribute).collect();
    item.fields = format!(
        "{}  ({}, {})",
        show::shorten(&attributes.join(", "), 100),
        sizes::show(bytes),
        fragments(array.fragments().len())
    );
    debug_assert_eq!(item.kind, info::kind(schema));
}

fn fragments(n: usize) -> String {
    if n == 1 {
        "1 fragment".to_owned()
    } else {
        format!("{n} fragments")
    }
}

impl Item {
    /// A member of a group that is not there, and was not when it was added.
    fn absent(name: String) -> Self {
        Self {
            name,
            kind: "unknown",
            shape: String::new(),
            fields: "(nothing is there)".to_owned(),
            children: Vec::new(),
        }
    }

    /// What `ls` shows of it: its children, or itself if it is an array.
    fn listed(&self) -> &[Self] {
        if matches!(self.kind, "dense" | "sparse" | "array") {
            std::slice::from_ref(self)
        } else {
            &self.children
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        vec![
            name.to_owned(),
            self.kind.to_owned(),
            self.shape.clone(),
            self.fields.clone(),
        ]
    }

    fn branches(&self, indent: &str, rows: &mut Vec<Vec<String>>) {
        for (i, child) in self.children.iter().enumerate() {
            let last = i + 1 == self.children.len();
            rows.push(child.row(&format!("{indent}{} {}", if last { "└─" } else { "├─" }, child.name)));
            child.branches(&format!("{indent}{}  ", if last { " " } else { "│" }), rows);
        }
    }

    fn json(&self) -> Value {
        let mut value = json!({"name": self.name, "type": self.kind});
        if let Some(map) = value.as_object_mut() {
            if !self.shape.is_empty() {
                map.insert("shape".into(), self.shape.clone().into());
            }
            if !self.fields.is_empty() {
                map.insert("attributes".into(), self.fields.clone().into());
            }
            if !self.children.is_empty() {
                map.insert("children".into(), self.children.iter().map(Self::json).collect());
            }
        }
        value
    }
}
