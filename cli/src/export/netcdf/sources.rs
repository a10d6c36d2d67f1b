//! The arrays of a NetCDF file: one array with its coordinate arrays, or the arrays of a group.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use hyperslab::group::{Group, ObjectType, object_type};
use hyperslab::metadata::MetaValue;
use hyperslab::{ScalarRange, Window, vfs};

use super::super::job::Job;
use super::super::members;
use super::super::raster;
use super::variables::text;
use crate::args::Export;
use crate::errors::usage;
use crate::formats::Output;
use crate::store::{Env, Place};
use crate::time_args;

/// The attributes of a variable that name other variables.
const NAMING: [&str; 3] = ["coordinates", "grid_mapping", "bounds"];
/// The group metadata that says how an application laid out its arrays, not what they mean.
const LAYOUT: [&str; 4] = ["dataset_type", "_gdal", "fmt_version", "valid"];
/// The dimension of a variable without axes.
const SCALARS: &str = "__scalars";

/// An array, and the selected part of it.
pub(super) struct Source {
    /// The query of its cells.
    pub(super) job: Job,
    /// The last part of its path.
    pub(super) name: String,
    /// Its metadata.
    pub(super) metadata: BTreeMap<String, MetaValue>,
    /// The numbers of the dimensions that remain, because more than a coordinate is selected.
    pub(super) axes: Vec<usize>,
}

impl Source {
    pub(super) fn cannot_read(&self) -> String {
        format!("cannot read {}", self.job.url)
    }

    fn new(job: Job, metadata: BTreeMap<String, MetaValue>) -> Result<Self> {
        let schema = job.array.schema();
        ensure!(
            schema.is_dense(),
            "a NetCDF file has the cells of dense arrays; export {} to .parquet or .csv",
            job.url
        );
        let names = schema.dimensions.iter().map(|d| d.name.as_str());
        let selected = job.selected.iter().flat_map(|s| &s.axes);
        let kept = names.zip(selected).enumerate();
        let kept = kept.filter(|(_, (name, axis))| !axis.single && *name != SCALARS);
        Ok(Self {
            axes: kept.map(|(d, _)| d).collect(),
            // The first level of a raster has the name of its group.
            name: file_name(job.url.strip_suffix("/l_0").unwrap_or(&job.url)),
            metadata,
            job,
        })
    }

    async fn of(job: Job) -> Result<Self> {
        let metadata = job.array.metadata().await?;
        Self::new(job, metadata)
    }

    /// The selected coordinates along a dimension.
    pub(super) fn ranges(&self, dimension: usize) -> &[ScalarRange] {
        self.job.query.region.0.get(dimension).map_or(&[], Vec::as_slice)
    }

    /// The number of coordinates along a dimension.
    pub(super) fn length(&self, dimension: usize) -> u64 {
        if self.job.is_empty() {
            return 0;
        }
        let count = |r: &ScalarRange| r.hi.as_i128().zip(r.lo.as_i128()).map_or(1, |(hi, lo)| hi - lo + 1);
        let all: i128 = self.ranges(dimension).iter().map(count).sum();
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}

/// The contents of a NetCDF file.
pub(super) struct Found {
    /// The arrays.
    pub(super) sources: Vec<Source>,
    /// The attributes of the file.
    pub(super) attributes: Vec<(String, MetaValue)>,
    /// Notes about the arrays and attributes that are left out.
    pub(super) notes: Vec<String>,
}

/// The arrays at the path of an export.
pub(super) async fn find(env: &Env, args: &Export) -> Result<Found> {
    let place = Place::new(&args.array)?;
    let kind = object_type(&place.context, &place.path).await?;
    let raster = object_type(&place.context, &place.join("l_0").path).await?;
    if kind == Some(ObjectType::Group) && raster.is_none() {
        return group(env, args, &place).await;
    }
    array(env, args).await
}

/// The arrays of a group. Axes of one name have the length of the longest array, so far as domains reach.
async fn group(env: &Env, args: &Export, place: &Place) -> Result<Found> {
    let pick = &args.pick;
    let given = [
        (pick.select.is_some(), "--select"),
        (pick.attrs.is_some(), "--attrs"),
        (pick.condition.is_some(), "--where"),
        (args.snapshot.is_some(), "--snapshot"),
    ];
    if let Some((_, option)) = given.iter().find(|(is_given, _)| *is_given) {
        return Err(usage(option, "this is for one array; name an array of the group"));
    }
    let opened = Group::open(&place.context, &place.path, &env.options(time_args::window(pick.at)?)).await?;
    let mut found = Found {
        sources: Vec::new(),
        attributes: attributes(&opened.metadata().await?),
        notes: Vec::new(),
    };
    let (arrays, groups) = members::arrays(&opened, place).await?;
    for name in groups {
        let note = format!("the group '{name}' is left out; export it to a file of its own");
        found.notes.push(note);
    }
    for (name, at) in arrays {
        let job = Job::new(env, &of_whole(args, &at.url), Output::NetCdf).await?;
        if job.array.schema().is_dense() {
            found.sources.push(Source::of(job).await?);
        } else {
            let note = format!("the sparse array '{name}' is left out; export it to .parquet or .csv");
            found.notes.push(note);
        }
    }
    ensure!(
        !found.sources.is_empty(),
        "the group {} has no dense arrays",
        args.array
    );
    lengthen(&mut found.sources);
    Ok(found)
}

/// Selects the axes of several arrays to the same length, if the arrays have room.
fn lengthen(sources: &mut [Source]) {
    let mut longest: BTreeMap<String, Vec<ScalarRange>> = BTreeMap::new();
    let ends = |range: &ScalarRange| (range.lo.as_i128(), range.hi.as_i128());
    for source in sources.iter() {
        for (d, dimension) in source.job.array.schema().dimensions.iter().enumerate() {
            longest
                .entry(dimension.name.clone())
                .or_default()
                .extend(source.ranges(d).iter().cloned());
        }
    }
    for source in sources {
        let schema = std::sync::Arc::clone(source.job.array.schema());
        for (dimension, ranges) in schema.dimensions.iter().zip(&mut source.job.query.region.0) {
            let others = longest.get(&dimension.name).map_or(&[][..], Vec::as_slice);
            let (Some(domain), [own]) = (&dimension.domain, ranges.as_mut_slice()) else {
                continue;
            };
            let fits = |other: &&ScalarRange| ends(other).0 == ends(own).0 && ends(other).1 <= ends(domain).1;
            if let Some(other) = others.iter().filter(fits).max_by_key(|r| ends(r).1) {
                *own = other.clone();
            }
        }
    }
}

/// An array, and the arrays in its folder that hold its coordinates.
async fn array(env: &Env, args: &Export) -> Result<Found> {
    let (args, job) = raster::opened(env, args, Output::NetCdf, "l_0").await?;
    let metadata = job.array.metadata().await?;
    let job = match raster::true_size(&args, &job, &metadata) {
        Some(args) => Job::new(env, &args, Output::NetCdf).await?,
        None => job,
    };
    let main = Source::new(job, metadata)?;
    let parent = parent(&args.array);
    let of_group = async {
        let place = Place::new(&parent).ok()?;
        let options = env.options(Window::ALL);
        let group = Group::open(&place.context, &place.path, &options).await.ok()?;
        group.metadata().await.ok()
    };
    let mut found = Found {
        attributes: attributes(&of_group.await.unwrap_or_default()),
        notes: Vec::new(),
        sources: vec![main],
    };
    let mut seen = BTreeSet::from([file_name(&args.array)]);
    let mut next = 0;
    while let Some(source) = found.sources.get(next) {
        next += 1;
        for name in named(source) {
            if !seen.insert(name.clone()) || name.contains(['/', '\\']) || name.starts_with(['.', '_']) {
                continue;
            }
            let url = vfs::join_url(&parent, &name);
            let Ok(mut job) = Job::new(env, &of_whole(&args, &url), Output::NetCdf).await else {
                continue;
            };
            if job.array.schema().is_dense() && same_part(&mut job, &found.sources) {
                found.sources.push(Source::of(job).await?);
            }
        }
    }
    Ok(found)
}

/// The arrays that a source names: those of its axes and in its attributes.
fn named(source: &Source) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for dimension in &source.job.array.schema().dimensions {
        names.push(dimension.name.clone());
    }
    for (key, value) in &source.metadata {
        if key.rsplit('.').next().is_some_and(|last| NAMING.contains(&last)) {
            names.extend(
                text(value)
                    .split_whitespace()
                    .map(|word| word.trim_end_matches(':').to_owned()),
            );
        }
    }
    names
}

/// Selects the coordinates of the first source along the axes that an array shares with it. Returns false if the array
/// does not reach so far.
fn same_part(job: &mut Job, sources: &[Source]) -> bool {
    let Some(main) = sources.first() else { return false };
    let dimensions = &main.job.array.schema().dimensions;
    let schema = std::sync::Arc::clone(job.array.schema());
    let selected = job.selected.iter_mut().flat_map(|s| &mut s.axes);
    for ((dimension, axis), ranges) in schema.dimensions.iter().zip(selected).zip(&mut job.query.region.0) {
        let Some(d) = dimensions.iter().position(|other| other.name == dimension.name) else {
            continue;
        };
        let wanted = main.ranges(d);
        let inside = |r: &ScalarRange| {
            let domain = dimension.domain.as_ref();
            domain.is_some_and(|domain| domain.contains(&r.lo) && domain.contains(&r.hi))
        };
        if !wanted.iter().all(inside) {
            return false;
        }
        *ranges = wanted.to_vec();
        axis.single = !main.axes.contains(&d);
    }
    true
}

/// The export of all of another array.
fn of_whole(args: &Export, url: &str) -> Export {
    let mut other = args.clone();
    other.array = url.to_owned();
    (other.pick.select, other.pick.attrs, other.pick.condition) = (None, None, None);
    other
}

fn attributes(metadata: &BTreeMap<String, MetaValue>) -> Vec<(String, MetaValue)> {
    let own = |key: &str| !key.starts_with("__") && !LAYOUT.contains(&key);
    let kept = metadata.iter().filter(|(key, _)| own(key));
    let mut all: Vec<(String, MetaValue)> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    if all.iter().all(|(key, _)| key != "Conventions") {
        all.push(("Conventions".to_owned(), MetaValue::text("CF-1.11")));
    }
    all
}

/// The folder of a path or URL.
fn parent(url: &str) -> String {
    let folder = url.trim_end_matches('/').rsplit_once('/');
    folder.map_or_else(|| ".".to_owned(), |(folder, _)| folder.to_owned())
}

fn file_name(url: &str) -> String {
    let name = url.trim_end_matches('/').rsplit('/').next();
    name.unwrap_or_default().to_owned()
}
