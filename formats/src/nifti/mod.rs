//! NIfTI-1 and NIfTI-2, in the layout of TileDB-BioImaging, with the header and the affine as metadata.
//!
//! The crate `nifti` reads volumes whole or slice by slice, so the header and boxes are read here.

mod header;
#[cfg(test)]
mod tests;
mod version;
mod write;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use flate2::read::MultiGzDecoder;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{ArrayType, Attribute, Filter, Pipeline, Schema};
use hyperslab::{CellCount, Column, Datatype, Scalar};

use self::header::{BYTES_MAX, Header};
pub use self::write::{NiftiVolume, big_endian};
use crate::bioimg::{self, Channel, INTENSITY, Meaning};
use crate::meta::{entry, float, text};
use crate::{Length, NewArray, NewGroup, Options, Plan, Source};

/// The most bytes of extensions that are kept as metadata.
const EXTENSIONS_BYTES_MAX: u64 = 16 << 20;

/// A NIfTI file that was opened for import.
struct Nifti {
    file: File,
    header: Header,
    plan: Plan,
    /// The lengths of the array's axes before Y and X, and by how many planes each of them steps in the file.
    lead: Vec<(u64, u64)>,
    /// Whether the samples of a voxel are the first of these axes.
    unpack: Option<[f64; 2]>,
}

/// Opens a file, which may be compressed with gzip.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>> {
    let mut file = File::open(path)?;
    let mut head = [0; 2];
    let compressed = file.read_exact(&mut head).is_ok() && head == [0x1f, 0x8b];
    file.seek(SeekFrom::Start(0))?;
    let mut file = if compressed { unzipped(file)? } else { file };
    let raw = start(&mut file)?;
    let header = Header::decode(&raw)?;
    let end = header.data_bytes().and_then(|n| n.checked_add(header.data_at));
    let end = end.context("the header has more voxels than a file can hold")?;
    let bytes = file.metadata()?.len();
    ensure!(
        end <= bytes,
        "the file is cut off: it has {bytes} bytes, but its voxels end at byte {end}"
    );
    let extensions = extensions(&mut file, &header)?;
    let axes = Axes::of(&header);
    let unpack = header.packing.filter(|_| options.unpack);
    let plan = axes.plan(&header, extensions, unpack.is_some())?;
    Ok(Box::new(Nifti {
        file,
        lead: axes.lead(),
        plan,
        unpack,
        header,
    }))
}

/// The file without compression, in a temporary file that vanishes when it is closed.
fn unzipped(file: File) -> Result<File> {
    let mut packed = MultiGzDecoder::new(BufReader::new(file));
    let mut head = Vec::new();
    packed
        .by_ref()
        .take(BYTES_MAX as u64)
        .read_to_end(&mut head)
        .context("its gzip stream is damaged")?;
    let header = Header::decode(&head)?;
    let bytes = header.data_bytes().and_then(|n| n.checked_add(header.data_at));
    let bytes = bytes.context("the header has more voxels than a file can hold")?;
    let mut plain = tempfile::tempfile().context("cannot make a temporary file")?;
    io::copy(&mut head.as_slice(), &mut plain)?;
    let rest = bytes.saturating_sub(head.len() as u64);
    let copied = io::copy(&mut packed.take(rest), &mut plain);
    copied.with_context(|| {
        format!(
            "its gzip stream is damaged after {} bytes",
            plain.metadata().map_or(0, |m| m.len())
        )
    })?;
    plain.seek(SeekFrom::Start(0))?;
    Ok(plain)
}

fn start(file: &mut File) -> Result<Vec<u8>> {
    let mut raw = Vec::new();
    file.take(BYTES_MAX as u64).read_to_end(&mut raw)?;
    Ok(raw)
}

/// The bytes between the header and the voxels, unless they say that there are no extensions.
fn extensions(file: &mut File, header: &Header) -> Result<Option<Vec<u8>>> {
    let from = header.raw.len() as u64;
    let bytes = header.data_at - from;
    if !(5..=EXTENSIONS_BYTES_MAX).contains(&bytes) {
        return Ok(None);
    }
    let mut raw = vec![0; usize::try_from(bytes)?];
    file.seek(SeekFrom::Start(from))?;
    file.read_exact(&mut raw)?;
    Ok((raw[0] != 0).then_some(raw))
}

/// The axes of the array.
struct Axes {
    /// Name, length, and the number of planes in the file from one place to the next. Slowest first.
    all: Vec<(String, u64, u64)>,
}

impl Axes {
    fn of(header: &Header) -> Self {
        let length = |axis: usize| header.lengths.get(axis).copied().unwrap_or(1);
        let step = |axis: usize| (2..axis).map(length).product::<u64>();
        let lead: Vec<(&str, u64, u64)> = if header.lengths.iter().skip(5).all(|n| *n == 1) {
            // The letters of BioImaging. Colors within voxels are channels too, unless the fifth axis is.
            vec![
                ("T", length(3), step(3)),
                ("C", length(4), step(4)),
                ("Z", length(2), step(2)),
            ]
        } else {
            vec![
                ("dim_7", length(6), step(6)),
                ("dim_6", length(5), step(5)),
                ("dim_5", length(4), step(4)),
                ("T", length(3), step(3)),
                ("Z", length(2), step(2)),
            ]
        };
        let mut all: Vec<(String, u64, u64)> = Vec::new();
        for (name, length, step) in lead {
            if length > 1 {
                all.push((name.to_owned(), length, step));
            }
        }
        all.push(("Y".to_owned(), length(1), 0));
        all.push(("X".to_owned(), length(0), 0));
        Self { all }
    }

    fn lead(&self) -> Vec<(u64, u64)> {
        let lead = self.all.split_last_chunk::<2>().map_or(&[][..], |(lead, _)| lead);
        lead.iter().map(|(_, length, step)| (*length, *step)).collect()
    }

    fn plan(&self, header: &Header, extensions: Option<Vec<u8>>, unpacked: bool) -> Result<Plan> {
        let shape: Vec<u64> = self.all.iter().map(|(_, length, _)| *length).collect();
        let letters: String = self.all.iter().map(|(name, ..)| name.as_str()).collect();
        let is_image = self.all.iter().all(|(name, ..)| name.len() == 1);
        let mut dimensions = bioimg::dimensions(&letters, &shape);
        if !is_image {
            let short: String = self
                .all
                .iter()
                .map(|(name, ..)| if name.len() == 1 { name.as_str() } else { "C" })
                .collect();
            dimensions = bioimg::dimensions(&short, &shape);
            for (dimension, (name, ..)) in dimensions.iter_mut().zip(&self.all) {
                dimension.name.clone_from(name);
            }
        }
        let datatype = if unpacked { Datatype::Float64 } else { header.datatype };
        let schema = Schema::new(ArrayType::Dense, dimensions, vec![attribute(datatype, header.samples)]);
        schema.check()?;
        let mut of_array = Vec::new();
        if let Some([slope, intercept]) = header.packing.filter(|_| !unpacked) {
            of_array.push(float(format!("__tiledb_attr.{INTENSITY}.scale_factor"), slope));
            of_array.push(float(format!("__tiledb_attr.{INTENSITY}.add_offset"), intercept));
        }
        let mut of_file = file_metadata(header, extensions);
        let mut array = NewArray {
            path: String::new(),
            schema,
            enumerations: Vec::new(),
            metadata: Vec::new(),
            length: Length::Box(shape.clone()),
        };
        let mut plan = Plan::default();
        if is_image {
            of_file.extend(bioimg::metadata(&meaning(header, &letters, &shape), &letters, &[shape]));
            array.path = bioimg::level_name(0);
            of_array.extend(bioimg::level_metadata(0));
            plan.groups.push(NewGroup {
                path: String::new(),
                metadata: of_file,
            });
        } else {
            of_array.append(&mut of_file);
        }
        array.metadata = of_array;
        plan.arrays.push(array);
        Ok(plan)
    }
}

fn attribute(datatype: Datatype, samples: u64) -> Attribute {
    let cell = CellCount::Fixed(u32::try_from(samples).unwrap_or(1));
    let mut attribute = Attribute::new(INTENSITY, datatype, cell);
    let zstd = Filter::Zstd { level: 5 };
    attribute.filters = Pipeline::new(match datatype.size() {
        1 => vec![zstd],
        _ => vec![Filter::Byteshuffle, zstd],
    });
    attribute
}

/// What the header says besides sizes.
fn file_metadata(header: &Header, extensions: Option<Vec<u8>>) -> Vec<Entry> {
    let affine: Vec<u8> = header.affine.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut all = vec![
        entry("nifti_affine", MetaValue::bytes(Datatype::Float64, &affine)),
        entry("nifti_header", MetaValue::bytes(Datatype::Blob, &header.raw)),
    ];
    if let Some(extensions) = extensions {
        all.push(entry("nifti_extensions", MetaValue::bytes(Datatype::Blob, &extensions)));
    }
    let end = |raw: &[u8]| raw.iter().position(|b| *b == 0).unwrap_or(raw.len());
    let description = if header.raw.len() == 348 { 148..228 } else { 240..320 };
    if let Some(raw) = header.raw.get(description).filter(|raw| end(raw) > 0) {
        all.push(text("description", &String::from_utf8_lossy(&raw[..end(raw)])));
    }
    all
}

fn meaning(header: &Header, axes: &str, shape: &[u64]) -> Meaning {
    let step = |axis: usize| header.steps.get(axis).copied().filter(|s| *s > 0.0);
    let unit = |unit: Option<&str>| unit.map(str::to_owned);
    let names = ["physicalSizeX", "physicalSizeY", "physicalSizeZ"];
    let sizes = names.iter().enumerate().filter_map(|(axis, name)| {
        let size = step(axis)?;
        Some((*name, size, unit(header.space_unit())))
    });
    let time = step(3).filter(|_| axes.contains('T'));
    let time = time.map(|step| ("timeIncrement", step, unit(header.time_unit())));
    let count = axes.find('C').and_then(|at| shape.get(at)).copied().unwrap_or(1);
    let channel = |number: u64| Channel {
        id: format!("Channel:0:{number}"),
        name: format!("Channel {number}"),
        range: header.range,
        ..Channel::default()
    };
    Meaning {
        source_axes: axes.to_owned(),
        source_shape: shape.to_vec(),
        channels: (0..count.min(4096)).map(channel).collect(),
        sizes: sizes.chain(time).collect(),
        ome_xml: None,
    }
}

impl Source for Nifti {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, _: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        let (lead, [rows, columns]) = ranges.split_last_chunk::<2>().context("a box has two axes at least")?;
        let mut planes = vec![0_u64];
        for ((_, step), range) in self.lead.iter().zip(lead) {
            let along = |plane: u64| range.clone().map(move |i| plane + i * step);
            planes = planes.into_iter().flat_map(along).collect();
        }
        let size = self.header.datatype.size();
        let cell = size as u64 * self.header.samples;
        let [width, height] = [0, 1].map(|axis| self.header.lengths.get(axis).copied().unwrap_or(1));
        let row_bytes = usize::try_from((columns.end - columns.start) * cell)?;
        let mut data = Vec::with_capacity(planes.len() * row_bytes * usize::try_from(rows.end - rows.start)?);
        let whole = *columns == (0..width);
        for plane in planes {
            let at = |row: u64| self.header.data_at + ((plane * height + row) * width + columns.start) * cell;
            // Whole rows follow one another.
            let runs = if whole {
                vec![rows.clone()]
            } else {
                rows.clone().map(|r| r..r + 1).collect()
            };
            for run in runs {
                let start = data.len();
                data.resize(start + row_bytes * usize::try_from(run.end - run.start)?, 0);
                let read = self.file.seek(SeekFrom::Start(at(run.start)));
                let read = read.and_then(|_| self.file.read_exact(&mut data[start..]));
                read.with_context(|| format!("the voxels at byte {} cannot be read", at(run.start)))?;
            }
        }
        if self.header.big_endian && size > 1 {
            data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        let mut datatype = self.header.datatype;
        if let Some([slope, intercept]) = self.unpack {
            let numbers = data.chunks_exact(size).map(|raw| {
                let number = Scalar::from_le_bytes(datatype.physical(), raw).and_then(|s| s.as_f64());
                number.unwrap_or(f64::NAN) * slope + intercept
            });
            data = numbers.flat_map(f64::to_le_bytes).collect();
            datatype = Datatype::Float64;
        }
        let column = Column {
            datatype,
            cell: CellCount::Fixed(u32::try_from(self.header.samples)?),
            data,
            offsets: None,
            validity: None,
        };
        Ok(vec![(INTENSITY.to_owned(), column)])
    }

    fn read_rows(&mut self, _: usize, _: usize) -> Result<Option<Vec<(String, Column)>>> {
        bail!("a NIfTI file has no rows")
    }
}
