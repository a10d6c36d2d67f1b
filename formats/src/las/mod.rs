//! LAS and LAZ point clouds, in the layout of PDAL's writer for TileDB: a sparse array over X, Y and Z, whose attributes
//! have PDAL's names.
//!
//! The crates `las` and `laz` give the header and the point records. The point type of `las` has extra bytes undecoded, so
//! the records are taken apart here.

mod bounds;
mod crs;
mod extra;
mod pipeline;
mod points;
mod record;
mod schema;
mod trust;
mod write;

use std::fs::File;
use std::io::{BufReader, Seek as _};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use hyperslab::{Column, Datatype};
use las::{Header, Transform};

pub use write::{CloudInfo, PointWriter};

use self::points::Points;
use self::record::{Field, fields, numbers};
use crate::{Options, Plan, Source};

/// The names of the dimensions.
const AXES: [&str; 3] = ["X", "Y", "Z"];

/// A point cloud that was opened for import.
struct Cloud {
    records: Points,
    width: usize,
    fields: Vec<Field>,
    plan: Plan,
    transforms: [Transform; 3],
    /// Points that were read, and all points.
    read: u64,
    points: u64,
}

/// Opens a file.
pub(crate) fn open(path: &Path, _: &Options) -> Result<Box<dyn Source>> {
    let mut file = BufReader::new(File::open(path)?);
    trust::check(&mut file)?;
    file.rewind()?;
    let header = &Header::new(&mut file).context("the header cannot be read")?;
    let mut notes = Vec::new();
    let fields = fields(header, &mut notes)?;
    let bounds = bounds::of_points(Points::new(file, header)?, header)?;
    let domain = bounds::domain(header, bounds, &mut notes)?;
    let plan = schema::plan(header, &fields, domain, notes)?;
    let mut file = BufReader::new(File::open(path)?);
    Header::new(&mut file)?;
    Ok(Box::new(Cloud {
        fields,
        plan,
        transforms: transforms(header),
        read: 0,
        points: header.number_of_points(),
        width: usize::from(header.point_format().len()),
        records: Points::new(file, header)?,
    }))
}

/// How stored integers become coordinates.
fn transforms(header: &Header) -> [Transform; 3] {
    let t = header.transforms();
    [t.x, t.y, t.z]
}

impl Cloud {
    /// The coordinates along an axis.
    fn coordinates(&self, axis: usize, records: &[u8]) -> Result<Column> {
        let transform = self.transforms.get(axis).context("a point has three coordinates")?;
        let mut data = Vec::with_capacity(records.len() / self.width.max(1) * 8);
        for record in records.chunks_exact(self.width.max(1)) {
            let place = f64::from(stored(record, axis)?) * transform.scale + transform.offset;
            data.extend_from_slice(&place.to_le_bytes());
        }
        Ok(numbers(Datatype::Float64, data))
    }
}

/// The integer for a coordinate of a record.
fn stored(record: &[u8], axis: usize) -> Result<i32> {
    let bytes = record.get(4 * axis..).and_then(|b| b.first_chunk::<4>());
    Ok(i32::from_le_bytes(*bytes.context("a point record is too short")?))
}

impl Source for Cloud {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, _: usize, _: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        bail!("a point cloud has no boxes of cells")
    }

    fn read_rows(&mut self, _: usize, rows: usize) -> Result<Option<Vec<(String, Column)>>> {
        let wanted = (rows as u64).min(self.points.saturating_sub(self.read));
        if wanted == 0 {
            return Ok(None);
        }
        let first = self.read;
        let what = || format!("cannot read the points from number {first} on; the file is damaged");
        let width = self.width;
        let mut records = vec![0; usize::try_from(wanted)?.saturating_mul(width)];
        self.records.read(&mut records).with_context(what)?;
        let records = records.as_slice();
        let mut columns = Vec::with_capacity(AXES.len() + self.fields.len());
        for (axis, name) in AXES.iter().enumerate() {
            columns.push(((*name).to_owned(), self.coordinates(axis, records)?));
        }
        for field in &self.fields {
            columns.push((field.name.clone(), field.column(records, width)?));
        }
        self.read += wanted;
        Ok(Some(columns))
    }
}
