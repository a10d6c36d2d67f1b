//! Export as NIfTI.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context as _, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyperslab::conventions::{self, Dataset};
use hyperslab::group::Group;
use hyperslab::internals::view::selection::{Axis, Selection};
use hyperslab::metadata::MetaValue;
use hyperslab::schema::{Attribute, Layout};
use hyperslab::{CellCount, Query, Scalar, ScalarRange};
use hyperslab_formats::{NiftiVolume, big_endian};

use super::job::Job;
use super::raster;
use crate::args::Export;
use crate::errors::usage;
use crate::formats::Output;
use crate::output_file::{Out, failed};
use crate::show;
use crate::store::{Env, Place};
use crate::time_args;

/// The dimensions that an import of NIfTI makes, in the order of the file's axes.
const NAMES: [&[&str]; 7] = [&["X"], &["Y"], &["Z"], &["T"], &["C", "dim_5"], &["dim_6"], &["dim_7"]];

/// Writes the array, or the first level of an image.
pub(super) async fn export(env: &Env, args: &Export) -> Result<()> {
    let (opened, job) = raster::opened(env, args, Output::Nifti, "l_0.tdb").await?;
    let (Some(selected), true) = (&job.selected, job.array.schema().is_dense()) else {
        bail!("a NIfTI file has the cells of a dense array; export a sparse one to .csv or .parquet");
    };
    let attribute = attribute(&job)?;
    let order = order(&job, selected)?;
    let (metadata, dataset) = match opened.array == args.array {
        true => (job.array.metadata().await?, conventions::of_array(&job.array).await?),
        false => of_group(env, args).await?,
    };
    let volume = volume(&job, attribute, &order, &metadata, &dataset)?;
    let (start, is_big_endian) = volume.start()?;
    let out = Out::create(&args.out, args.force)?;
    let cell = attribute.cell.cell_bytes(attribute.datatype).unwrap_or(0) as u64;
    let bytes = job.cells().unwrap_or(0).saturating_mul(cell);
    let mut file = match args.out.to_ascii_lowercase().ends_with(".gz") {
        true => Sink::Packed(Box::new(GzEncoder::new(out, Compression::default()))),
        false => {
            out.make_room(bytes.saturating_add(start.len() as u64))?;
            Sink::Plain(out)
        }
    };
    let mut written = file.write(&args.out, &start)?;
    let expected = bytes.saturating_add(written);
    let progress = job.progress("exporting");
    for query in queries(&job, &order) {
        let mut batches = job.array.batches(query?);
        while let Some(batch) = batches
            .next()
            .await
            .with_context(|| format!("cannot read {}", job.url))?
        {
            progress.add(batch.cells);
            for (_, column) in batch.columns {
                let bytes = match is_big_endian {
                    true => big_endian(attribute.datatype, column.data),
                    false => column.data,
                };
                written += file.write(&args.out, &bytes)?;
            }
        }
    }
    ensure!(
        written == expected,
        "cannot write {}: it has {written} bytes instead of {expected}, because the array changed during the export; run \
         it again",
        args.out
    );
    file.finish(&args.out)
}

/// The attribute whose cells are the voxels.
fn attribute(job: &Job) -> Result<&Attribute> {
    let [field] = job.fields.as_slice() else {
        return Err(usage("--attrs", "a NIfTI file has the cells of one attribute; name it"));
    };
    ensure!(
        job.query.order == Layout::RowMajor,
        usage(
            "--order",
            "a NIfTI file has the cells in row order; leave the option out"
        )
    );
    let found = job.array.schema().attributes.iter().find(|a| a.name == field.name);
    let attribute = found.context("a NIfTI file has the cells of an attribute")?;
    let holds = |n: u32| NiftiVolume::holds(attribute.datatype, n.into());
    ensure!(
        matches!(attribute.cell, CellCount::Fixed(n) if holds(n)) && !attribute.nullable,
        "a NIfTI file has one number in each cell, or 3 or 4 bytes for a color, and no nulls; '{}' has other cells; select \
         another attribute with --attrs, or export to .npy",
        attribute.name
    );
    Ok(attribute)
}

/// The dimension of each axis of the file, fastest first; `None` for an axis of length 1 without a dimension.
struct Order {
    dimensions: Vec<Option<usize>>,
    /// Whether the dimensions have the names that an import of NIfTI gives them.
    is_named: bool,
}

fn order(job: &Job, selected: &Selection) -> Result<Order> {
    let schema = job.array.schema();
    let place = |name: &str| NAMES.iter().position(|names| names.contains(&name));
    let mut named = vec![None; NAMES.len()];
    let fits = schema.dimensions.iter().enumerate().all(|(d, dimension)| {
        let place = place(&dimension.name).filter(|at| named[*at].is_none());
        place.map(|at| named[at] = Some(d)).is_some()
    });
    if fits {
        let last = named.iter().rposition(Option::is_some).unwrap_or(0);
        named.truncate(last + 1);
        return Ok(Order {
            dimensions: named,
            is_named: true,
        });
    }
    let shown = (0..schema.dimensions.len()).filter(|d| selected.axes.get(*d).is_some_and(|axis| !axis.single));
    let dimensions: Vec<Option<usize>> = shown.rev().map(Some).collect();
    ensure!(
        dimensions.len() <= NAMES.len(),
        usage(
            "--select",
            "a NIfTI file has at most seven axes; select single coordinates along the others"
        )
    );
    Ok(Order {
        dimensions: if dimensions.is_empty() { vec![None] } else { dimensions },
        is_named: false,
    })
}

/// The metadata and the description of the group that an image is.
async fn of_group(env: &Env, args: &Export) -> Result<(BTreeMap<String, MetaValue>, Dataset)> {
    let place = Place::new(&args.array)?;
    let options = env.options(time_args::window(args.pick.at)?);
    let group = Group::open(&place.context, &place.path, &options).await?;
    let dataset = conventions::of(&place.context, &place.path, &options).await?;
    Ok((group.metadata().await?, dataset))
}

fn volume(
    job: &Job,
    attribute: &Attribute,
    order: &Order,
    metadata: &BTreeMap<String, MetaValue>,
    dataset: &Dataset,
) -> Result<NiftiVolume> {
    let schema = job.array.schema();
    let variable = dataset.variables.iter().find(|v| v.attribute == attribute.name);
    let stored = |key: &str| {
        metadata
            .get(key)
            .filter(|_| order.is_named)
            .map(|value| value.data.clone())
    };
    let mut volume = NiftiVolume {
        datatype: Some(attribute.datatype),
        samples: match attribute.cell {
            CellCount::Fixed(n) => n.into(),
            CellCount::Var => 1,
        },
        packing: variable.and_then(|v| v.packing).map(|p| [p.scale, p.offset]),
        header: stored("nifti_header"),
        extensions: stored("nifti_extensions"),
        ..NiftiVolume::default()
    };
    for dimension in &order.dimensions {
        let part = dimension.and_then(|d| Some((schema.dimensions.get(d)?, job.selected.as_ref()?.axes.get(d)?)));
        let Some((dimension, axis)) = part else {
            volume.lengths.push(1);
            volume.windows.push([0, 1]);
            volume.steps.push(None);
            continue;
        };
        let not_evenly = || {
            usage(
                "--select",
                "the voxels of a NIfTI file are evenly spaced; give a range instead of a list",
            )
        };
        ensure!(axis.list.is_empty(), not_evenly());
        let start = axis.range.as_ref().and_then(|r| r.lo.as_i128());
        let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
        let before = start.zip(low).and_then(|(start, low)| u64::try_from(start - low).ok());
        let length = axis.len().filter(|n| *n > 0);
        let (before, length) = before.zip(length).with_context(|| {
            format!(
                "'{}' has no cells, so there is nothing to export along it",
                dimension.name
            )
        })?;
        volume.lengths.push(length);
        volume.windows.push([before, axis.step]);
        let along = variable.and_then(|v| v.axes.iter().find(|a| a.dimension == dimension.name));
        let step = along.and_then(|a| Some((a.coordinates.regular()?.step, a.unit.clone())));
        volume.steps.push(step);
    }
    if !order.is_named && metadata.contains_key("nifti_header") {
        show::note(format_args!(
            "the file has a plain header, because its dimensions have other names than those of an imported NIfTI file"
        ));
    }
    Ok(volume)
}

/// The queries whose cells follow each other in the file.
fn queries<'a>(job: &'a Job, order: &Order) -> impl Iterator<Item = Result<Query>> + 'a {
    let slowest_first: Vec<usize> = order.dimensions.iter().rev().flatten().copied().collect();
    let is_reversed = slowest_first.len() > 1 && slowest_first.iter().rev().is_sorted();
    // What follows these dimensions in the file has the order of the array.
    let fixed = match is_reversed {
        true => 0,
        false => (0..slowest_first.len())
            .find(|from| slowest_first.get(*from..).is_some_and(<[usize]>::is_sorted))
            .unwrap_or(0),
    };
    let fixed: Vec<usize> = slowest_first.into_iter().take(fixed).collect();
    let axis = move |d: usize| job.selected.as_ref().and_then(|selected| selected.axes.get(d));
    let length = move |d: &usize| axis(*d).and_then(Axis::len).unwrap_or(1);
    let count = fixed.iter().map(length).fold(1, u64::saturating_mul);
    (0..count).map(move |mut number| {
        let mut query = job.query.clone();
        if is_reversed {
            query.order = Layout::ColMajor;
        }
        for d in fixed.iter().rev() {
            let index = number % length(d).max(1);
            number /= length(d).max(1);
            let dimension = job.array.schema().dimensions.get(*d);
            let place = axis(*d).zip(dimension).and_then(|(axis, dimension)| {
                let low = axis.range.as_ref()?.lo.as_i128()?;
                let at = Scalar::from_i128(dimension.datatype, low + i128::from(index) * i128::from(axis.step))?;
                Some(ScalarRange { lo: at.clone(), hi: at })
            });
            let ranges = query.region.0.get_mut(*d).zip(place);
            let (ranges, place) = ranges.context("the selection lacks an axis")?;
            *ranges = vec![place];
        }
        Ok(query)
    })
}

/// The file, compressed or not.
enum Sink {
    Plain(Out),
    Packed(Box<GzEncoder<Out>>),
}

impl Sink {
    /// Writes bytes and returns their number.
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<u64> {
        let written = match self {
            Self::Plain(out) => out.write_all(bytes),
            Self::Packed(out) => out.write_all(bytes),
        };
        written.map_err(|e| failed(name, e))?;
        Ok(bytes.len() as u64)
    }

    fn finish(self, name: &str) -> Result<()> {
        match self {
            Self::Plain(out) => out.finish(),
            Self::Packed(packed) => packed.finish().map_err(|e| failed(name, e))?.finish(),
        }
    }
}
