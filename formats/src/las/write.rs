//! Writes points as LAS or LAZ, with the scale, the offset and the point format that the array's metadata states.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _, Write};

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::schema::{Filter, Schema};
use hyperslab::{CellCount, Column, Datatype};
use las::point::Format;
use las::{Builder, GpsTimeType, PointDataBuilder, Transform, Vector, Version, Writer};

use super::pipeline::Stated;
use super::record::{ANGLE_STEP, Field, Part, standard};
use super::{AXES, crs, extra};

/// The scale of coordinates of which nothing is known, as PDAL has it.
const SCALE: f64 = 0.01;

/// The array that points come from.
#[derive(Debug, Clone)]
pub struct CloudInfo<'a> {
    /// Its schema.
    pub schema: &'a Schema,
    /// The text of its metadata `_pdal`, or nothing.
    pub pdal: &'a str,
    /// The attributes to write, by name.
    pub attributes: Vec<String>,
    /// Whether the file is compressed, as `.laz` files are.
    pub compressed: bool,
}

/// A file that is written batch by batch.
pub struct PointWriter {
    writer: Writer<BufWriter<File>>,
    fields: Vec<Field>,
    format: Format,
    transforms: Vector<Transform>,
    /// Whether a coordinate lies between the steps of the scale.
    rounded: bool,
    notes: Vec<String>,
}

impl PointWriter {
    /// A writer into a temporary file.
    ///
    /// # Errors
    /// The array has no dimensions X, Y and Z of float64, or an attribute that LAS cannot hold.
    pub fn new(info: &CloudInfo<'_>) -> Result<Self> {
        for name in AXES {
            let found = info
                .schema
                .dimension(name)
                .filter(|(_, d)| d.datatype == Datatype::Float64);
            ensure!(
                found.is_some(),
                "a LAS file has the points of a sparse array with the dimensions X, Y and Z of float64; export the array to \
                 .parquet"
            );
        }
        let stated = Stated::read(info.pdal);
        let mut format = format_of(&stated, &info.attributes);
        let mut fields: Vec<Field> = standard(&format);
        fields.retain(|f| info.attributes.contains(&f.name));
        let (added, record) = added(info, &fields, format.len())?;
        format.extra_bytes = added.iter().map(|f| f.datatype.size() as u16).sum();
        fields.extend(added);
        format.is_compressed = info.compressed;
        let transforms = transforms(info.schema, &stated);
        let mut notes = Vec::new();
        let mut builder = Builder::default();
        builder.version = Version::new(1, 4);
        builder.point_format = format;
        builder.transforms = transforms;
        builder.file_source_id = stated.source;
        if stated.standard_time {
            builder.gps_time_type = GpsTimeType::Standard;
        }
        builder.system_identifier = stated.system.chars().filter(char::is_ascii).take(31).collect();
        "hyperslab".clone_into(&mut builder.generating_software);
        builder.vlrs.extend(record);
        match stated.crs.as_deref().map(crs::record) {
            Some(Some((record, is_wkt))) => {
                builder.has_wkt_crs = is_wkt;
                if record.data.len() > usize::from(u16::MAX) {
                    builder.evlrs.push(record);
                } else {
                    builder.vlrs.push(record);
                }
            }
            Some(None) => {
                notes.push("the coordinate system is neither WKT nor an EPSG code, and is left out".to_owned())
            }
            None => {}
        }
        let file = tempfile::tempfile().context("cannot make a temporary file")?;
        let header = builder.into_header().context("LAS cannot hold these points")?;
        Ok(Self {
            writer: Writer::new(BufWriter::new(file), header)?,
            fields,
            format,
            transforms,
            rounded: false,
            notes,
        })
    }

    /// Adds points: all dimensions and attributes by name, in equal numbers.
    ///
    /// # Errors
    /// A coordinate or a value does not fit into the file.
    pub fn push(&mut self, columns: &[(String, Column)]) -> Result<()> {
        let named = |name: &str| {
            let found = columns.iter().find(|(n, _)| n == name).map(|(_, column)| column);
            found.with_context(|| format!("there is no column '{name}'"))
        };
        let count = named(AXES[0])?.len();
        let width = usize::from(self.format.len());
        let mut records = vec![0; count.saturating_mul(width)];
        let transforms = [self.transforms.x, self.transforms.y, self.transforms.z];
        for ((axis, name), transform) in AXES.iter().enumerate().zip(transforms) {
            let places = named(name)?.data.as_chunks::<8>().0.iter();
            for (record, place) in records.chunks_exact_mut(width).zip(places) {
                let place = f64::from_le_bytes(*place);
                let stored = stored(place, &transform).with_context(|| {
                    format!(
                        "the point with {name} = {place} does not fit: files hold 32 bits of steps of {}",
                        transform.scale
                    )
                })?;
                let back = f64::from(stored) * transform.scale + transform.offset;
                self.rounded |= (back - place).abs() > place.abs().max(1.0) * 1e-12;
                put(record, 4 * axis, &stored.to_le_bytes());
            }
        }
        for field in &self.fields {
            let column = named(&field.name)?;
            ensure!(
                column.datatype.size() == field.datatype.size() && column.data.len() == count * field.datatype.size(),
                "'{}' is {}, but {} in LAS files",
                field.name,
                column.datatype,
                field.datatype
            );
            let values = column.data.chunks_exact(field.datatype.size().max(1));
            for (record, value) in records.chunks_exact_mut(width).zip(values) {
                encode(field, value, record)?;
            }
        }
        let points = PointDataBuilder::new()
            .with_format(self.format)
            .with_transforms(self.transforms);
        self.writer.write_points(&points.build_from_bytes(records)?)?;
        Ok(())
    }

    /// Writes the file to `out`. Returns notes for the user.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self, out: &mut dyn Write) -> Result<Vec<String>> {
        let mut notes = self.notes;
        if self.rounded {
            let t = self.transforms;
            notes.push(format!(
                "coordinates are rounded to steps of {}, {} and {} along X, Y and Z",
                t.x.scale, t.y.scale, t.z.scale
            ));
        }
        let mut file = self.writer.into_inner()?.into_inner().map_err(|e| e.into_error())?;
        file.rewind()?;
        io::copy(&mut BufReader::new(file), out)?;
        Ok(notes)
    }
}

/// The point format of the file that the array came from, or else one of LAS 1.4 that holds the attributes.
fn format_of(stated: &Stated, attributes: &[String]) -> Format {
    let has = |name: &str| attributes.iter().any(|a| a == name);
    let id = match stated.format {
        // Waveforms do not carry over.
        Some(4) => 1,
        Some(5) => 3,
        Some(9) => 6,
        Some(10) => 8,
        Some(id @ 0..=8) => id,
        _ if has("Infrared") => 8,
        _ if has("Red") => 7,
        _ => 6,
    };
    Format::new(id).unwrap_or_default()
}

/// The attributes that are not in every record of the format, and the record that describes them.
fn added(info: &CloudInfo<'_>, fields: &[Field], start: u16) -> Result<(Vec<Field>, Option<las::Vlr>)> {
    let mut at = usize::from(start);
    let (mut list, mut described) = (Vec::new(), Vec::new());
    for name in &info.attributes {
        if fields.iter().any(|f| f.name == *name) {
            continue;
        }
        let found = info.schema.attribute(name);
        let (_, attribute) = found.with_context(|| format!("there is no attribute '{name}'"))?;
        let fits = attribute.cell == CellCount::ONE && !attribute.nullable && extra::code(attribute.datatype).is_some();
        ensure!(
            fits && name.len() <= 32,
            "LAS cannot hold '{name}' ({}): extra attributes are single numbers that are not nullable, with names of at most \
             32 bytes; select other attributes with --attrs",
            attribute.datatype
        );
        list.push(Field {
            name: name.clone(),
            datatype: attribute.datatype,
            at,
            part: Part::Plain,
        });
        described.push((name.clone(), attribute.datatype));
        at += attribute.datatype.size();
    }
    ensure!(
        at <= usize::from(u16::MAX),
        "there are too many attributes for LAS; select some with --attrs"
    );
    Ok((list, extra::record(&described)))
}

/// The scale and the offset of each axis: those of the metadata, or of the filters, or PDAL's default.
fn transforms(schema: &Schema, stated: &Stated) -> Vector<Transform> {
    let [x, y, z] = [0, 1, 2].map(|axis| {
        let name = AXES.get(axis).copied().unwrap_or_default();
        let filters = schema
            .dimension(name)
            .map(|(_, d)| d.filters.filters.as_slice())
            .unwrap_or_default();
        let filter = filters.iter().find_map(|f| match f {
            Filter::FloatScale { scale, offset, .. } => Some([*scale, *offset]),
            _ => None,
        });
        let known = stated.transforms.get(axis).copied().flatten().or(filter);
        let [scale, offset] = known.unwrap_or([SCALE, 0.0]);
        Transform { scale, offset }
    });
    Vector { x, y, z }
}

/// The integer that is stored for a coordinate.
fn stored(place: f64, transform: &Transform) -> Option<i32> {
    let steps = ((place - transform.offset) / transform.scale).round();
    let fits = steps >= f64::from(i32::MIN) && steps <= f64::from(i32::MAX);
    fits.then_some(steps as i32)
}

fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
    record.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
}

/// Writes a value into a record.
fn encode(field: &Field, value: &[u8], record: &mut [u8]) -> Result<()> {
    let name = &field.name;
    match (field.part, value) {
        (Part::Bits, &[flags, returns]) => put(record, field.at, &[returns, flags]),
        (Part::OldBits, &[flags, numbers]) => {
            let (of, all) = (numbers & 15, numbers >> 4);
            ensure!(
                of < 8 && all < 8 && flags & 0x38 == 0,
                "a point has return {of} of {all}, or a flag, that the point format of the array's source does not have; \
                 remove the metadata '_pdal' to write point format 6"
            );
            let class = record.get(field.at + 1).copied().unwrap_or(0) & 31;
            put(record, field.at, &[of | all << 3 | flags & 0xc0, class | flags << 5]);
        }
        (Part::OldClass, &[class]) => {
            ensure!(
                class < 32,
                "a point has class {class}, which the point format of the array's source does not have; remove the metadata \
                 '_pdal' to write point format 6"
            );
            let flags = record.get(field.at).copied().unwrap_or(0) & 0xe0;
            put(record, field.at, &[flags | class]);
        }
        (Part::OldAngle | Part::Angle, bytes) => {
            let Some(angle) = bytes.first_chunk::<4>().map(|b| f32::from_le_bytes(*b)) else {
                bail!("'{name}' is no float32");
            };
            let steps = if field.part == Part::Angle {
                angle / ANGLE_STEP
            } else {
                angle
            };
            let steps = steps.round();
            let most = if field.part == Part::Angle { 32767.0 } else { 127.0 };
            ensure!(
                steps.abs() <= most,
                "a point has the scan angle {angle}, which LAS cannot hold"
            );
            let bytes = (steps as i16).to_le_bytes();
            put(
                record,
                field.at,
                bytes
                    .get(..if field.part == Part::Angle { 2 } else { 1 })
                    .unwrap_or(&bytes),
            );
        }
        (_, bytes) => put(record, field.at, bytes),
    }
    Ok(())
}
