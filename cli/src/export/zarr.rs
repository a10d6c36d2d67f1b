//! Export as a Zarr v3 store: the arrays that the mount shows below `zarr/`, as files, or all levels of an image or raster.
//! Chunks that the view has as plain cells are compressed with zstd; shards of stored bytes are copied. Text, which the view
//! lacks, and parts of arrays are made of cells.

mod cells;
mod keys;
mod part;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use hyperslab::group::{Group, ObjectType, object_type};
use hyperslab::internals::view::zarr::{Member, dimension_names, members, text_members};
use hyperslab::schema::Schema;
use hyperslab::view::{FileType, Source, View};
use hyperslab::{Array, vfs};
use serde_json::{Map, Value, json};

use self::cells::{CellArray, NotText};
use super::members as group_members;
use crate::args::Export;
use crate::errors::usage;
use crate::meta;
use crate::output_file::failed;
use crate::progress::Progress;
use crate::show;
use crate::signals::{Pending, temporary_path};
use crate::store::{Env, Place};
use crate::time_args;

/// The folder of the arrays in a view.
const FOLDER: &str = "zarr";
/// The level that the zstd tool uses by default.
const LEVEL: i32 = 3;

/// An array of the store.
struct Node {
    kind: Kind,
    chunks: Chunks,
    /// Its `zarr.json`.
    document: Value,
}

/// What an array has, which decides between two arrays of the same name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Plain numbers along a dimension, or the coordinate system. They are the same in all arrays of a group.
    Index,
    /// The coordinates along a dimension, which take the place of plain numbers: `lat.data`, shown as `lat`.
    Axis,
    /// Values of another attribute.
    Values,
}

/// Where the chunks of an array come from.
enum Chunks {
    /// The files in this folder of a view.
    View(usize, String),
    /// Cells.
    Cells(Box<CellArray>),
    /// One chunk with these bytes; none if they are empty.
    One(Vec<u8>),
}

/// The arrays of the store by name, and the source of their chunks.
#[derive(Default)]
struct Store {
    views: Vec<View>,
    nodes: BTreeMap<String, Node>,
    /// The metadata of groups within the store.
    groups: BTreeMap<String, Value>,
    /// The written lengths along dimensions by name. Domains have room to grow.
    lengths: BTreeMap<String, u64>,
    attributes: Map<String, Value>,
    is_group: bool,
}

/// Writes the array or group.
pub(super) async fn export(env: &Env, args: &Export) -> Result<()> {
    check(args)?;
    let store = collect(env, args).await?;
    ensure!(
        !store.nodes.is_empty(),
        "{} has no attributes that a Zarr store can hold; export it to .parquet",
        args.array
    );
    let mut half = Pending::new(temporary_path(&folder_of(&args.out))?);
    fs::create_dir_all(half.path()).map_err(|e| failed(&args.out, e))?;
    half.hold();
    let write = |path: &Path, bytes: &[u8]| -> Result<()> {
        let folder = path.parent().unwrap_or(path);
        let done = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
        done.map_err(|e| failed(&args.out, e))
    };
    let progress = Progress::new("exporting", None, "bytes");
    let mut all = Map::new();
    for (name, document) in &store.groups {
        write(&half.path().join(name).join("zarr.json"), pretty(document).as_bytes())?;
        all.insert(name.clone(), document.clone());
    }
    for (name, node) in &store.nodes {
        let document = store.document(node);
        let folder = half.path().join(name);
        let write_chunk = |path: &str, bytes: &[u8]| {
            progress.add(bytes.len() as u64);
            write(&folder.join(path), bytes)
        };
        let written = match &node.chunks {
            Chunks::View(view, from) => {
                store
                    .copy((*view, from.as_str()), codecs(&node.document) == Some(1), write_chunk)
                    .await
            }
            Chunks::Cells(cells) => make(cells, &document, write_chunk).await,
            Chunks::One(bytes) if bytes.is_empty() => Ok(()),
            Chunks::One(bytes) => write_chunk("c/0", &zstd::bulk::compress(bytes, LEVEL)?),
        };
        if store.is_group
            && let Err(error) = &written
            && let Some(why) = error.downcast_ref::<NotText>()
        {
            show::note(format_args!("the array '{name}' is left out: {}", why.in_group()));
            remove(&folder).map_err(|e| failed(&args.out, e))?;
            continue;
        }
        written.with_context(|| format!("cannot export {} to {}", args.array, args.out))?;
        write(&folder.join("zarr.json"), pretty(&document).as_bytes())?;
        all.insert(name.clone(), document);
    }
    let root = json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": store.attributes,
        "consolidated_metadata": { "kind": "inline", "must_understand": false, "metadata": all },
    });
    write(&half.path().join("zarr.json"), pretty(&root).as_bytes())?;
    finish(half, &args.out, args.force)
}

/// Removes the chunks of an array that is left out.
fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Writes the chunks of an array that is made of cells.
async fn make(cells: &CellArray, document: &Value, write: impl Fn(&str, &[u8]) -> Result<()>) -> Result<()> {
    let shape = lengths(&document["shape"]);
    for mut key in cells.touched()?.keys() {
        // All values of a cell are in one chunk.
        key.resize(shape.len(), 0);
        let path = key.iter().fold("c".to_owned(), |path, index| format!("{path}/{index}"));
        write(&path, &cells.chunk(&key, &shape).await?)?;
    }
    Ok(())
}

/// Refuses what a store cannot be, and an output that is no store.
fn check(args: &Export) -> Result<()> {
    let pick = &args.pick;
    let options = [
        (pick.condition.is_some(), "--where"),
        (pick.order.is_some(), "--order"),
        (args.rows, "--rows"),
        (args.limit.is_some(), "--limit"),
    ];
    if let Some((_, option)) = options.iter().find(|(is_given, _)| *is_given) {
        return Err(usage(
            option,
            "a .zarr store has all selected cells, in row-major order; leave the option out",
        ));
    }
    ensure!(
        args.out != "-" && !args.out.contains("://"),
        usage("OUT", "a .zarr store is a folder on this machine; give its path")
    );
    check_target(&args.out, args.force)
}

/// Refuses a path at which there is something, unless it is a store to replace.
fn check_target(out: &str, force: bool) -> Result<()> {
    let target = Path::new(out);
    let exists = target.symlink_metadata().is_ok();
    ensure!(
        !exists || force,
        "cannot write {out}: the folder exists already; choose another name, or replace it with --force"
    );
    let is_store = ["zarr.json", ".zgroup", ".zarray"]
        .iter()
        .any(|name| target.join(name).is_file());
    ensure!(
        !exists || is_store,
        "cannot replace {out}: it is not a Zarr store; remove it first"
    );
    Ok(())
}

/// Puts the complete store in its place. The old one stays if that fails.
fn finish(half: Pending, out: &str, force: bool) -> Result<()> {
    // Another program may have made something there in the meantime.
    check_target(out, force)?;
    half.replace(&folder_of(out)).map_err(|e| failed(out, e))
}

/// The folder of the store, with symbolic links resolved, so that replacing it keeps the links.
fn folder_of(out: &str) -> PathBuf {
    Path::new(out).canonicalize().unwrap_or_else(|_| PathBuf::from(out))
}

/// The arrays at the path of an export.
async fn collect(env: &Env, args: &Export) -> Result<Store> {
    let place = Place::new(&args.array)?;
    let window = time_args::window(args.pick.at)?;
    let mut store = Store::default();
    if object_type(&place.context, &place.path).await? != Some(ObjectType::Group) {
        let array = env.open_at(&place, window).await?;
        ensure!(
            array.schema().is_dense(),
            "a Zarr store has the cells of dense arrays; export {} to .parquet",
            args.array
        );
        let wanted = part::attributes(&array, args).await?;
        match &args.pick.select {
            Some(text) => store.add_part(&array, text, &wanted).await?,
            None => {
                store.add(&array, Some(&wanted)).await?;
                store.add_text(&array, Some(&wanted), None).await?;
            }
        }
        return Ok(store);
    }
    let given = [
        (args.pick.select.is_some(), "--select"),
        (args.pick.attrs.is_some(), "--attrs"),
        (args.snapshot.is_some(), "--snapshot"),
    ];
    if let Some((_, option)) = given.iter().find(|(is_given, _)| *is_given) {
        return Err(usage(option, "this is for one array; name an array of the group"));
    }
    store.is_group = true;
    let options = env.options(window);
    let group = Group::open(&place.context, &place.path, &options).await?;
    let metadata = group.metadata().await?;
    store.attributes = metadata.iter().map(|(key, v)| (key.clone(), meta::value(v))).collect();
    let source = Source {
        context: place.context.clone(),
        url: place.root.clone(),
        path: place.path.clone(),
        options,
        name: args.array.clone(),
    };
    let view = View::new(source, time_args::or_now(None)?);
    let levels = vfs::join(FOLDER, "zarr.json");
    if view.lookup(&levels).await?.is_some() {
        let root = view.read_file(&levels).await?;
        let levels = view.levels("").await?.into_iter();
        let levels: Vec<String> = levels.map(|path| place.at(&path).location()).collect();
        note_others(group_members::arrays(&group, &place).await?, &levels);
        store.add_levels(view, serde_json::from_slice(&root).context("the view made no JSON")?);
        return Ok(store);
    }
    let (arrays, groups) = group_members::arrays(&group, &place).await?;
    for name in groups {
        show::note(format_args!(
            "the group '{name}' is left out; export it to a store of its own"
        ));
    }
    // Numbers of any array come before text, which is left out if its name is taken.
    let mut with_text = Vec::new();
    for (name, at) in arrays {
        let array = env.open_at(&at, window).await?;
        if array.schema().is_dense() {
            store.add(&array, None).await?;
            if !text_members(array.schema()).is_empty() {
                with_text.push(array);
            }
        } else {
            show::note(format_args!(
                "the sparse array '{name}' is left out; export it to .parquet"
            ));
        }
    }
    for array in with_text {
        store.add_text(&array, None, None).await?;
    }
    Ok(store)
}

/// Prints a note for each member of a group that is not one of its levels. `levels` has their locations.
fn note_others((arrays, groups): (Vec<(String, Place)>, Vec<String>), levels: &[String]) {
    let others = arrays.into_iter().filter(|(_, at)| !levels.contains(&at.location()));
    for name in others.map(|(name, _)| name).chain(groups) {
        show::note(format_args!(
            "the member '{name}' is left out, because it is not a level; export it to a store of its own"
        ));
    }
}

impl Store {
    /// Adds the levels of an image or a raster. `root` is the view's metadata of the group.
    fn add_levels(&mut self, view: View, root: Value) {
        let part = |value: &Value| value.as_object().cloned().unwrap_or_default();
        self.attributes.extend(part(&root["attributes"]));
        for (name, document) in part(&root["consolidated_metadata"]["metadata"]) {
            if document["node_type"] == "group" {
                self.groups.insert(name, document);
                continue;
            }
            let chunks = Chunks::View(self.views.len(), vfs::join(FOLDER, &name));
            let kind = Kind::Values;
            self.nodes.insert(name, Node { kind, chunks, document });
        }
        self.views.push(view);
    }

    /// Copies the chunks in a folder of a view. Plain cells are compressed.
    async fn copy(
        &self,
        (view, folder): (usize, &str),
        is_plain: bool,
        write: impl Fn(&str, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let view = self.views.get(view).context("an array is missing")?;
        let mut open = vec!["c".to_owned()];
        while let Some(path) = open.pop() {
            let inside = vfs::join(folder, &path);
            if path == "c" && view.lookup(&inside).await?.is_none() {
                continue;
            }
            for entry in view.list(&inside).await? {
                let path = vfs::join(&path, &entry.name);
                if entry.file_type == FileType::Dir {
                    open.push(path);
                    continue;
                }
                let bytes = view.read_file(&vfs::join(folder, &path)).await?;
                match is_plain {
                    true => write(&path, &zstd::bulk::compress(&bytes, LEVEL)?)?,
                    false => write(&path, &bytes)?,
                }
            }
        }
        Ok(())
    }

    /// Adds the arrays of a TileDB array that its view has. Of an array by itself, only these attributes.
    async fn add(&mut self, array: &Array, wanted: Option<&[String]>) -> Result<()> {
        let (view, root) = opened(array).await?;
        if wanted.is_some() {
            self.attributes = root["attributes"].as_object().cloned().unwrap_or_default();
        }
        self.add_lengths(array);
        let number = self.views.len();
        for (name, document) in part::documents(array, &root, wanted) {
            let (shown, kind) = shown(array.schema(), &name);
            let chunks = Chunks::View(number, vfs::join(FOLDER, &name));
            self.place(shown, Node { kind, chunks, document })?;
        }
        self.views.push(view);
        Ok(())
    }

    /// Notes the written lengths along the dimensions of an array.
    fn add_lengths(&mut self, array: &Array) {
        let schema = array.schema();
        let names = dimension_names(schema).into_iter();
        let written = array.non_empty_domain().unwrap_or_default();
        for ((name, dimension), range) in names.zip(&schema.dimensions).zip(written) {
            let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
            let length = low
                .zip(range.hi.as_i128())
                .and_then(|(lo, hi)| u64::try_from(hi - lo + 1).ok());
            let known = self.lengths.entry(name).or_default();
            *known = (*known).max(length.unwrap_or_default());
        }
    }

    /// Whether an array can have this name, or take it from plain numbers along a dimension.
    fn has_room(&self, name: &str, kind: Kind) -> bool {
        let known = self.nodes.get(name).map(|node| node.kind);
        known.is_none_or(|known| known == Kind::Index && kind == Kind::Axis)
    }

    /// Adds an array. Plain numbers along a dimension are left out if there is an array with their name.
    ///
    /// # Errors
    /// If another array has the name.
    fn place(&mut self, name: String, node: Node) -> Result<()> {
        let is_free = self.has_room(&name, node.kind);
        if !is_free && node.kind == Kind::Index {
            return Ok(());
        }
        let advice = match self.is_group {
            true => "export one of them by itself",
            false => "leave one of them out with --attrs",
        };
        ensure!(is_free, "two arrays are called '{name}'; {advice}");
        self.nodes.insert(name, node);
        Ok(())
    }

    /// The `zarr.json` of an array: its shape without the room to grow, and with the codec of its chunks.
    fn document(&self, node: &Node) -> Value {
        let mut document = node.document.clone();
        let names = document["dimension_names"].as_array().cloned().unwrap_or_default();
        for (name, length) in names.iter().zip(document["shape"].as_array_mut().into_iter().flatten()) {
            let written = name.as_str().and_then(|name| self.lengths.get(name)).copied();
            if let (Some(written), Some(room)) = (written, length.as_u64()) {
                *length = json!(written.min(room));
            }
        }
        if codecs(&document) == Some(1)
            && let Some(codecs) = document["codecs"].as_array_mut()
        {
            codecs.push(zstd_codec());
        }
        document
    }
}

/// The view of an array, and its metadata of the group.
async fn opened(array: &Array) -> Result<(View, Value)> {
    let view = View::of_array(array, "array".to_owned());
    let root = view.read_file(&vfs::join(FOLDER, "zarr.json")).await?;
    Ok((view, serde_json::from_slice(&root).context("the view made no JSON")?))
}

/// The name of an array in the store, and what it is. Coordinates `lat.data` along `lat` are called `lat`.
fn shown(schema: &Schema, name: &str) -> (String, Kind) {
    let dimensions = dimension_names(schema);
    let own = name.strip_suffix(".data");
    if let Some(stem) = own.filter(|stem| dimensions.iter().any(|d| d == stem)) {
        return (stem.to_owned(), Kind::Axis);
    }
    let member = members(schema).into_iter().find(|(known, _)| known == name);
    let is_values = matches!(member, Some((_, Member::Values(_) | Member::Valid(_))));
    let is_text = || text_members(schema).iter().any(|(known, _)| known == name);
    let kind = if is_values || is_text() {
        Kind::Values
    } else {
        Kind::Index
    };
    (name.to_owned(), kind)
}

/// The lengths in a list of JSON.
fn lengths(list: &Value) -> Vec<u64> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect()
}

fn zstd_codec() -> Value {
    json!({"name": "zstd", "configuration": {"level": LEVEL, "checksum": false}})
}

/// The number of codecs, if the first of them makes bytes of cells.
fn codecs(document: &Value) -> Option<usize> {
    let codecs = document["codecs"].as_array()?;
    (codecs.first()?["name"] == "bytes").then_some(codecs.len())
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_stays_if_it_cannot_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.zarr");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("zarr.json"), "old").unwrap();
        let out = target.to_str().unwrap();
        // Nothing was written, so that there is nothing to rename.
        let absent = || Pending::new(dir.path().join("absent"));
        assert!(finish(absent(), out, true).is_err());
        assert!(finish(absent(), out, false).is_err());
        assert_eq!(fs::read(target.join("zarr.json")).unwrap(), b"old");
        let names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a.zarr"]);
    }
}
