//! The places of overviews, and the metadata that lists them. Overviews are next to their array, in its metadata key
//! `overviews`, or they are levels of a GDAL raster or a TileDB-BioImaging image.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::conventions::{Application, Dataset};
use hyperslab::group::write_group_metadata;
use hyperslab::group::{Group, GroupChange, GroupMember, MemberKind, ObjectType, change_group, object_type};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::{Array, Datatype, Window, WriteOptions};
use serde_json::{Value, json};

use super::gdal;
use super::level::Level;
use crate::store::{Env, Place, seed};
use crate::time_args;

/// The metadata key that lists the overviews for viewers.
const KEY: &str = "overviews";

/// Where overviews go.
pub(super) enum Target {
    /// Next to the array: `NAME.4` for the factor 4, `NAME.1x4x4` for several.
    Sibling,
    /// In the group of a GDAL raster: `l_1`, `l_2`, …
    Gdal(Place),
    /// In the group of an image: `l_1.tdb`, `l_2.tdb`, …
    Bioimg(Place),
}

impl Target {
    /// The array to shrink, which is in the group or is given itself, and where its overviews go.
    pub(super) async fn of(env: &Env, place: &Place) -> Result<(Place, Self)> {
        let kind = object_type(&place.context, &place.path).await?;
        if kind != Some(ObjectType::Group) {
            return Ok((place.clone(), Self::Sibling));
        }
        let dataset = hyperslab::conventions::of(&place.context, &place.path, &env.options(Window::ALL)).await?;
        match dataset.application {
            Application::GdalRaster => Ok((place.join("l_0"), Self::Gdal(place.clone()))),
            Application::Bioimg => Ok((place.join("l_0.tdb"), Self::Bioimg(place.clone()))),
            other => bail!(
                "cannot create overviews of {}: it is a group with {}; name one of its dense arrays, which `hyperslab \
                 info {}` lists",
                place.url,
                other.title(),
                place.url
            ),
        }
    }

    /// The places of the overviews, which must be free.
    pub(super) async fn places(&self, array: &Place, levels: &[Level]) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for (number, level) in (1..).zip(levels) {
            let place = match self {
                Self::Sibling => Place::new(&format!("{}.{}", array.url, level.name()))?,
                Self::Gdal(group) => group.join(&format!("l_{number}")),
                Self::Bioimg(group) => group.join(&format!("l_{number}.tdb")),
            };
            let there = object_type(&place.context, &place.path).await?;
            ensure!(
                there.is_none(),
                "cannot create the overview {}: it already exists; delete this folder and try again, or choose other factors",
                place.url
            );
            places.push(place);
        }
        Ok(places)
    }

    /// The metadata of an overview. `dataset` describes the array, with metadata `stored`.
    pub(super) fn metadata(
        &self,
        number: usize,
        level: &Level,
        dataset: &Dataset,
        stored: &BTreeMap<String, MetaValue>,
    ) -> Vec<Entry> {
        match self {
            Self::Sibling => kept(stored),
            Self::Gdal(_) => gdal::metadata(level, dataset, stored),
            Self::Bioimg(_) => vec![Entry {
                key: "level".to_owned(),
                value: Some(MetaValue::bytes(Datatype::Int64, &(number as i64).to_le_bytes())),
            }],
        }
    }

    /// Whether domains are padded to whole tiles.
    pub(super) const fn is_padded(&self) -> bool {
        matches!(self, Self::Gdal(_))
    }

    /// Tells readers about the finished overviews. Returns the list of all overviews.
    pub(super) async fn announce(&self, env: &Env, array: &Array, levels: &[Level], names: &[String]) -> Result<Value> {
        let metadata = array.metadata().await?;
        match self {
            Self::Sibling => {
                let list = listed(&metadata, levels, names);
                let text = MetaValue::text(&list.to_string());
                array.write_metadata(&[set(KEY, text)], &options()?).await?;
                Ok(list)
            }
            Self::Gdal(group) => {
                add_members(env, group, names).await?;
                let count = |value: &MetaValue| gdal::with_count(value, names.len());
                if let Some(value) = metadata.get(gdal::KEY) {
                    array
                        .write_metadata(&[set(gdal::KEY, count(value))], &options()?)
                        .await?;
                }
                let of_group = group_metadata(env, group).await?;
                if let Some(value) = of_group.get(gdal::KEY) {
                    write_group(env, group, vec![set(gdal::KEY, count(value))]).await?;
                }
                Ok(levels.iter().zip(names).map(|(l, n)| l.entry(n)).collect())
            }
            Self::Bioimg(group) => {
                add_members(env, group, names).await?;
                let entries = image(&group_metadata(env, group).await?, levels, names)?;
                write_group(env, group, entries).await?;
                Ok(levels.iter().zip(names).map(|(l, n)| l.entry(n)).collect())
            }
        }
    }
}

fn set(key: &str, value: MetaValue) -> Entry {
    Entry {
        key: key.to_owned(),
        value: Some(value),
    }
}

fn options() -> Result<WriteOptions> {
    Ok(WriteOptions {
        timestamp_ms: time_args::or_now(None)?,
        seed: seed()?,
        sync: true,
    })
}

/// The metadata about values, which is true of the overviews too.
fn kept(stored: &BTreeMap<String, MetaValue>) -> Vec<Entry> {
    let about_values = |key: &str| key.starts_with("__tiledb_attr.") || matches!(key, "nodata" | "missing_value");
    let about_values = stored.iter().filter(|(key, _)| about_values(key));
    about_values.map(|(key, value)| set(key, value.clone())).collect()
}

/// The list of the overviews, with those that were made before, coarsest last.
fn listed(metadata: &BTreeMap<String, MetaValue>, levels: &[Level], names: &[String]) -> Value {
    let list = metadata.get(KEY).and_then(|v| serde_json::from_slice(&v.data).ok());
    let mut list: Vec<Value> = list.unwrap_or_default();
    for (level, name) in levels.iter().zip(names) {
        let entry = level.entry(&format!("../{name}"));
        list.retain(|old| old.get("path") != entry.get("path"));
        list.push(entry);
    }
    list.sort_by_key(|entry| entry.get("factor").and_then(Value::as_u64));
    list.into()
}

async fn add_members(env: &Env, group: &Place, names: &[String]) -> Result<()> {
    let opened = Group::open(&group.context, &group.path, &env.options(Window::ALL)).await?;
    let mut changes = Vec::new();
    for name in names {
        // A member of an earlier level that is gone has the same place.
        let stale = opened
            .members
            .iter()
            .find(|m| m.uri.ends_with(&format!("/{name}")) && m.name.is_none());
        changes.extend(stale.map(|m| GroupChange::Remove(m.uri.clone())));
        changes.push(GroupChange::Add(GroupMember {
            kind: MemberKind::Array,
            relative: true,
            uri: name.clone(),
            name: Some(name.clone()),
            deleted: false,
        }));
    }
    change_group(&group.context, &group.path, &changes, env.key.as_ref(), &options()?)
        .await
        .with_context(|| format!("cannot add the overviews to the group {}", group.url))
}

async fn group_metadata(env: &Env, group: &Place) -> Result<BTreeMap<String, MetaValue>> {
    let opened = Group::open(&group.context, &group.path, &env.options(Window::ALL)).await?;
    Ok(opened.metadata().await?)
}

async fn write_group(env: &Env, group: &Place, entries: Vec<Entry>) -> Result<()> {
    let (context, path) = (&group.context, &group.path);
    Ok(write_group_metadata(context, path, &entries, env.key.as_ref(), &options()?).await?)
}

/// The metadata of an image with more levels: the keys `levels`, `pixel_depth`, and the list `axes` of `metadata`.
fn image(stored: &BTreeMap<String, MetaValue>, levels: &[Level], names: &[String]) -> Result<Vec<Entry>> {
    let json = |key: &str| {
        stored
            .get(key)
            .and_then(|v| serde_json::from_slice::<Value>(&v.data).ok())
    };
    let Some(Value::Array(mut list)) = json("levels") else {
        bail!(
            "the group's metadata 'levels' is no list, so readers would not find the overviews; name the array l_0.tdb \
             instead of the group"
        );
    };
    let axes = list.first().and_then(|l| l.get("axes")).cloned().unwrap_or_default();
    list.truncate(1);
    let mut depths = json("pixel_depth").unwrap_or_else(|| json!({"0": 1}));
    let mut metadata = json("metadata").unwrap_or_default();
    for ((level, name), number) in levels.iter().zip(names).zip(1..) {
        list.push(json!({"level": number, "name": name, "axes": axes, "shape": level.lengths}));
        if let Value::Object(depths) = &mut depths {
            depths.insert(number.to_string(), json!(1));
        }
        if let Some(Value::Array(all)) = metadata.get_mut("axes")
            && let Some(mut one) = all.first().cloned()
        {
            all.truncate(number);
            one["storedShape"] = json!(level.lengths);
            all.push(one);
        }
    }
    let text = |key: &str, value: &Value| set(key, MetaValue::text(&value.to_string()));
    let mut entries = vec![text("levels", &list.into()), text("pixel_depth", &depths)];
    if !metadata.is_null() {
        entries.push(text("metadata", &metadata));
    }
    Ok(entries)
}
