//! Export as a GeoTIFF.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::conventions;
use hyperslab::metadata::MetaValue;
use hyperslab::schema::{Attribute, Layout};
use hyperslab::{CellCount, Scalar};
use hyperslab_formats::{RasterInfo, RasterWriter};

use super::finish;
use super::georeference;
use super::job::Job;
use super::netcdf::text;
use crate::args::Export;
use crate::errors::usage;
use crate::formats::Output;
use crate::output_file::Out;
use crate::show;
use crate::store::{Env, Place};

/// Writes the array, or the first level of a group of GDAL.
pub(super) async fn export(env: &Env, args: &Export) -> Result<()> {
    let (args, job) = opened(env, args, Output::Tiff, "l_0").await?;
    let metadata = job.array.metadata().await?;
    let (args, job) = match true_size(&args, &job, &metadata) {
        Some(args) => {
            let job = Job::new(env, &args, Output::Tiff).await?;
            (args, job)
        }
        None => (args, job),
    };
    write(&job, &args, &metadata).await
}

/// Opens the array, or the array `finest` of a group.
pub(super) async fn opened(env: &Env, args: &Export, output: Output, finest: &str) -> Result<(Export, Job)> {
    let error = match Job::new(env, args, output).await {
        Ok(job) => return Ok((args.clone(), job)),
        Err(error) => error,
    };
    let mut below = args.clone();
    below.array = format!("{}/{finest}", args.array.trim_end_matches('/'));
    match Job::new(env, &below, output).await {
        Ok(job) => Ok((below, job)),
        // The group has a raster, so the error is about it.
        Err(of_raster) if Place::new(&below.array).is_ok_and(|p| p.local().is_some_and(Path::exists)) => Err(of_raster),
        Err(_) => Err(error),
    }
}

/// The export of the true size of a raster that GDAL has padded to whole tiles.
pub(super) fn true_size(args: &Export, job: &Job, metadata: &BTreeMap<String, MetaValue>) -> Option<Export> {
    let xml = text(metadata.get("_gdal")?);
    let names: Vec<&str> = job.array.schema().dimensions.iter().map(|d| d.name.as_str()).collect();
    let size = |name: &str| {
        let (_, rest) = xml.split_once(&format!("<MDI key=\"{name}_SIZE\">"))?;
        rest.split_once('<')?.0.parse::<u64>().ok()
    };
    if args.pick.select.is_some() {
        return None;
    }
    let part = |name: &&str| match *name {
        "X" | "Y" => Some(format!("0:{}", size(name)?)),
        _ => Some(":".to_owned()),
    };
    let parts: Option<Vec<String>> = names.iter().map(part).collect();
    let mut args = args.clone();
    args.pick.select = Some(parts?.join(","));
    Some(args)
}

fn not_integers(axis: &str) -> String {
    format!("the coordinates of '{axis}' are no integers, as a GeoTIFF needs; export to .npy or .parquet")
}

async fn write(job: &Job, args: &Export, metadata: &BTreeMap<String, MetaValue>) -> Result<()> {
    let schema = job.array.schema();
    let (Some(selected), true) = (&job.selected, schema.is_dense()) else {
        bail!("a GeoTIFF has the cells of a dense array; export a sparse one to .csv or .arrow");
    };
    let [field] = job.fields.as_slice() else {
        return Err(usage("--attrs", "a GeoTIFF has the cells of one attribute; name it"));
    };
    ensure!(
        job.query.order == Layout::RowMajor,
        usage("--order", "a GeoTIFF has the cells in row order; leave the option out")
    );
    let attribute = schema.attributes.iter().find(|a| a.name == field.name);
    let attribute = attribute.context("a GeoTIFF has the cells of an attribute")?;
    ensure!(
        attribute.cell == CellCount::ONE && !attribute.nullable,
        "a GeoTIFF has one number in each cell, and no nulls; select another attribute with --attrs"
    );
    let names: Vec<&str> = schema.dimensions.iter().map(|d| d.name.as_str()).collect();
    ensure!(
        !names.ends_with(&["BANDS"]),
        "the bands of this raster are its last dimension, which is not supported; convert it with gdal_translate"
    );
    let axes = schema.dimensions.iter().zip(&selected.axes);
    let mut windows = Vec::new();
    for (dimension, axis) in axes {
        let start = axis.range.as_ref().and_then(|r| r.lo.as_i128());
        let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
        let (start, low) = start.zip(low).with_context(|| not_integers(&dimension.name))?;
        let length = axis.len().with_context(|| not_integers(&dimension.name))?;
        ensure!(
            axis.list.is_empty(),
            usage(
                "--select",
                "the pixels of a GeoTIFF are evenly spaced; give a range with a step instead of a list"
            )
        );
        windows.push(([u64::try_from(start - low)?, axis.step], length));
    }
    // A plane of an array with more axes.
    while windows.len() > 3 && windows.first().is_some_and(|(_, length)| *length == 1) {
        windows.remove(0);
    }
    let (bands, [(rows, height), (columns, width)]) = match windows.as_slice() {
        [y, x] => (1, [*y, *x]),
        [(_, bands), y, x] => (*bands, [*y, *x]),
        other => bail!(
            "a GeoTIFF has two or three axes, and this array has {}; export it to .npy",
            other.len()
        ),
    };
    let raster = match metadata.get("_gdal") {
        Some(value) => Some(text(value)),
        None => georeference::xml(&conventions::of_array(&job.array).await?, &field.name, bands),
    };
    if raster.is_none() && metadata.keys().any(|key| key.starts_with("__tiledb_attr.")) {
        let why = "the coordinates of its pixels are not evenly spaced, or the array has none";
        show::note(format_args!(
            "the TIFF has no coordinates, scale and units, because {why}; export to .nc to keep them"
        ));
    }
    let info = RasterInfo {
        width,
        height,
        bands,
        datatype: attribute.datatype,
        nodata: missing(attribute, metadata),
        xml: raster,
        window: [[columns[0], rows[0]], [columns[1], rows[1]]],
    };
    let mut writer = RasterWriter::new(info)?;
    let mut file = Out::create(&args.out, args.force)?;
    let progress = job.progress("exporting");
    let mut batches = job.batches();
    while let Some(batch) = batches.next().await? {
        progress.add(batch.cells);
        for (_, column) in &batch.columns {
            writer.push(&column.data)?;
        }
    }
    let notes = writer.finish(&mut file);
    finish(file, notes, args)
}

/// The value of cells without data: what the metadata says, or a fill value that is not the default of its type.
fn missing(attribute: &Attribute, metadata: &BTreeMap<String, MetaValue>) -> Option<String> {
    let key = format!("__tiledb_attr.{}.missing_value", attribute.name);
    let physical = attribute.datatype.physical();
    let declared = metadata
        .get(&key)
        .and_then(|v| Scalar::from_le_bytes(physical, &v.data));
    let differs = attribute.fill != attribute.datatype.default_fill();
    let fill = differs
        .then(|| Scalar::from_le_bytes(physical, &attribute.fill))
        .flatten();
    let value = declared.or(fill)?;
    match (value.as_i128(), value.as_f64()) {
        (Some(integer), _) => Some(integer.to_string()),
        (None, Some(float)) if float.is_nan() => Some("nan".to_owned()),
        (None, float) => float.map(|f| f.to_string()),
    }
}
