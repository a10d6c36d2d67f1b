//! The groups and arrays of a store, of version 2 or 3, from consolidated metadata or from its folders.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::vfs::join;
use serde_json::{Map, Value};

use super::store::Store;

/// Groups within groups, before a store counts as damaged.
const DEPTH_MAX: usize = 64;
/// The most groups and arrays of a store.
const OBJECTS_MAX: usize = 1 << 18;
/// Files with metadata.
pub(crate) const FILES: [&str; 4] = ["zarr.json", ".zarray", ".zgroup", ".zmetadata"];

/// A group or array.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Its path, without a slash at the start.
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) attributes: Map<String, Value>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Group,
    /// An array with the metadata of version 2.
    Array2(Value),
    /// An array with the metadata of version 3.
    Array3(Value),
}

/// The groups and arrays, each group before its members. The first is the root.
pub(super) fn read(store: &Store) -> Result<Vec<Node>> {
    let mut nodes = if let Some(all) = store.json(".zmetadata")? {
        consolidated2(&all)?
    } else {
        let Some(root) = node(store, "")? else {
            bail!(
                "this is not a Zarr store: it has none of the files {}",
                FILES.join(", ")
            );
        };
        let members = store.json("zarr.json")?;
        let members = members
            .as_ref()
            .and_then(|v| v.get("consolidated_metadata")?.get("metadata"));
        let mut nodes = vec![root];
        match members {
            Some(Value::Object(members)) => nodes.extend(consolidated3(members)?),
            _ => walk(store, &mut nodes)?,
        }
        nodes
    };
    ensure!(
        nodes.len() <= OBJECTS_MAX,
        "the store has more than {OBJECTS_MAX} groups and arrays"
    );
    add_groups(&mut nodes);
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    nodes.dedup_by(|a, b| a.path == b.path);
    Ok(nodes)
}

/// Adds groups that have members, but no metadata.
fn add_groups(nodes: &mut Vec<Node>) {
    let mut known: std::collections::HashSet<String> = nodes.iter().map(|n| n.path.clone()).collect();
    let mut missing = Vec::new();
    for node in nodes.iter() {
        let mut path = node.path.as_str();
        while !path.is_empty() {
            path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            if known.insert(path.to_owned()) {
                missing.push(group(path.to_owned(), Map::new()));
            }
        }
    }
    nodes.extend(missing);
}

fn group(path: String, attributes: Map<String, Value>) -> Node {
    Node {
        path,
        kind: Kind::Group,
        attributes,
    }
}

/// Lists the members of the groups.
fn walk(store: &Store, nodes: &mut Vec<Node>) -> Result<()> {
    let mut next = 0;
    while let Some(node) = nodes.get(next).cloned() {
        next += 1;
        if !matches!(node.kind, Kind::Group) {
            continue;
        }
        let depth = node.path.split('/').count();
        ensure!(
            depth <= DEPTH_MAX,
            "the groups of '{}' are nested too deeply",
            node.path
        );
        for name in store.folders(&node.path)? {
            let path = join(&node.path, &name);
            nodes.extend(self::node(store, &path)?);
            ensure!(
                nodes.len() <= OBJECTS_MAX,
                "the store has more than {OBJECTS_MAX} groups and arrays"
            );
        }
    }
    Ok(())
}

/// The group or array at a path.
fn node(store: &Store, path: &str) -> Result<Option<Node>> {
    if let Some(value) = store.json(&join(path, "zarr.json"))? {
        return node3(path, value).map(Some);
    }
    let array = store.json(&join(path, ".zarray"))?;
    if array.is_none() && store.json(&join(path, ".zgroup"))?.is_none() {
        return Ok(None);
    }
    let attributes = store.json(&join(path, ".zattrs"))?;
    Ok(Some(node2(path, array, attributes)))
}

fn node2(path: &str, array: Option<Value>, attributes: Option<Value>) -> Node {
    let attributes = match attributes {
        Some(Value::Object(attributes)) => attributes,
        _ => Map::new(),
    };
    Node {
        path: path.to_owned(),
        kind: array.map_or(Kind::Group, Kind::Array2),
        attributes,
    }
}

fn node3(path: &str, value: Value) -> Result<Node> {
    let attributes = value.get("attributes").and_then(Value::as_object).cloned();
    let kind = match value.get("node_type").and_then(Value::as_str) {
        Some("group") => Kind::Group,
        Some("array") => Kind::Array3(value),
        other => bail!("the metadata of '/{path}' is damaged: its node_type is {other:?}"),
    };
    Ok(Node {
        path: path.to_owned(),
        kind,
        attributes: attributes.unwrap_or_default(),
    })
}

/// The nodes of consolidated metadata of version 2, which has each file under its path.
fn consolidated2(all: &Value) -> Result<Vec<Node>> {
    let files = all.get("metadata").and_then(Value::as_object);
    let files = files.context(".zmetadata is damaged: it has no key 'metadata'")?;
    let mut nodes = Vec::new();
    for (file, value) in files {
        let (path, name) = file.rsplit_once('/').unwrap_or(("", file));
        let attributes = || files.get(&join(path, ".zattrs")).cloned();
        match name {
            ".zarray" => nodes.push(node2(path, Some(value.clone()), attributes())),
            ".zgroup" => nodes.push(node2(path, None, attributes())),
            _ => {}
        }
    }
    Ok(nodes)
}

/// The nodes of consolidated metadata of version 3.
fn consolidated3(members: &Map<String, Value>) -> Result<Vec<Node>> {
    members.iter().map(|(path, value)| node3(path, value.clone())).collect()
}
