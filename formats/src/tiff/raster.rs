//! The layout of GDAL's TileDB driver: a group with an array `l_0`, and `l_1`, … for smaller copies.

use std::ops::Range;

use anyhow::{Context as _, Result};
use hyperslab::internals::xml::{Element, unescape};
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{ArrayType, Dimension, Schema};
use hyperslab::{Datatype, Scalar};

use super::directory::{Directory, TiffFile, tag};
use super::geo::Geo;
use super::grid::{Grid, Plane};
use super::page::Page;
use super::{Made, Pages, pixels};
use crate::meta::{entry, float, text};
use crate::pam::{Band, Items, Pam};
use crate::{Length, NewArray, NewGroup, Options, Plan};

/// The attribute of GDAL's arrays.
const VALUES: &str = "TDB_VALUES";
/// The side of a tile, if the file has none of its own.
const TILE: u64 = 256;
/// The sides of the file's tiles that are taken over.
const TILES: std::ops::RangeInclusive<u64> = 64..=2048;

/// Tags that GDAL shows as metadata.
pub(super) const TEXT_TAGS: [(u16, &str); 7] = [
    (269, "TIFFTAG_DOCUMENTNAME"),
    (tag::DESCRIPTION, "TIFFTAG_IMAGEDESCRIPTION"),
    (305, "TIFFTAG_SOFTWARE"),
    (306, "TIFFTAG_DATETIME"),
    (315, "TIFFTAG_ARTIST"),
    (316, "TIFFTAG_HOSTCOMPUTER"),
    (33432, "TIFFTAG_COPYRIGHT"),
];

/// Scales and offsets by which cells are unpacked to `float64`.
#[derive(Debug)]
pub(super) struct Unpack {
    datatype: Datatype,
    nodata: Option<Vec<u8>>,
    /// The scale and the offset of each band.
    bands: Vec<(f64, f64)>,
}

impl Unpack {
    /// The numbers that the cells of a box stand for; NaN for those without data.
    pub(super) fn cells(&self, data: &[u8], ranges: &[Range<u64>]) -> Result<Vec<u8>> {
        let size = self.datatype.size();
        let bands = ranges.first().context("a box has bands")?;
        let count = usize::try_from(bands.end - bands.start)?.max(1);
        let plane = (data.len() / count).max(1);
        let mut out = Vec::with_capacity(data.len() / size * 8);
        for (cells, band) in data.chunks(plane).zip(bands.clone()) {
            let (scale, offset) = self.bands.get(usize::try_from(band)?).copied().unwrap_or((1.0, 0.0));
            for cell in cells.chunks_exact(size) {
                let missing = self.nodata.as_deref() == Some(cell);
                let number = Scalar::from_le_bytes(self.datatype.physical(), cell).and_then(|s| s.as_f64());
                let number = number.filter(|_| !missing).map_or(f64::NAN, |n| n * scale + offset);
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        Ok(out)
    }
}

/// What a raster's tags say.
struct Raster {
    /// Width and height.
    size: [u64; 2],
    geo: Geo,
    pam: Pam,
    nodata: Option<Vec<u8>>,
    notes: Vec<String>,
}

/// The arrays and groups of a raster.
pub(super) fn plan(pages: &mut Pages<'_>, directories: Vec<Directory>, options: &Options) -> Result<Made> {
    let mut directories = directories.into_iter();
    let first = directories.next().context("the TIFF has no image")?;
    let full = pages.add(first)?;
    let page = pages.get(full)?.clone();
    let mut raster = Raster::read(pages.file, &page)?;
    let mut levels = vec![full];
    let below = pages.below(full)?;
    for directory in directories.chain(below) {
        raster.level(pages, &page, directory, &mut levels);
    }
    raster.pam.overviews = levels.len() - 1;
    let packed = options.unpack && raster.pam.bands.iter().any(|b| b.scale.is_some() || b.offset.is_some());
    let unpack = packed.then(|| raster.unpack(&page));
    let mut plan = Plan {
        groups: vec![NewGroup {
            path: String::new(),
            metadata: vec![
                text("_gdal", &raster.pam_of(&page, 0).xml()),
                text("dataset_type", "raster"),
            ],
        }],
        ..Plan::default()
    };
    let mut grids = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let page = pages.get(*level)?;
        plan.arrays.push(raster.array(page, number, unpack.is_some())?);
        let planes = (0..page.samples).map(|sample| Plane {
            page: Some(*level),
            sample,
        });
        let missing = raster.nodata.clone().unwrap_or_else(|| vec![0; page.datatype.size()]);
        grids.push(Grid {
            lead: vec![page.samples],
            planes: planes.collect(),
            fill: missing,
        });
    }
    plan.notes = raster.notes;
    Ok(Made { plan, grids, unpack })
}

impl Raster {
    fn read(file: &mut TiffFile, page: &Page) -> Result<Self> {
        let directory = &page.directory;
        let mut geo = Geo::read(file, directory)?;
        let mut notes = std::mem::take(&mut geo.notes);
        let mut pam = Pam {
            crs: geo.crs.clone(),
            transform: geo.transform,
            bands: colors(file, page)?,
            ..Pam::default()
        };
        let point = |p: &super::geo::ControlPoint| [p.pixel[0], p.pixel[1], p.place[0], p.place[1], p.place[2]];
        pam.control_points = geo.points.iter().map(point).collect();
        let mut items = Items::new();
        for (tag, name) in TEXT_TAGS {
            if let Some(value) = file.text(directory, tag)? {
                items.push((name.to_owned(), value));
            }
        }
        if let Some(value) = geo.area_or_point {
            items.push(("AREA_OR_POINT".to_owned(), value.to_owned()));
        }
        pam.metadata.push((String::new(), items));
        if let Some(text) = file.text(directory, tag::GDAL_METADATA)? {
            match Element::parse(&text) {
                Ok(root) => read_items(&root, &mut pam),
                Err(why) => notes.push(format!("the tag GDAL_METADATA does not carry over: {why}")),
            }
        }
        let nodata = match file.text(directory, tag::GDAL_NODATA)? {
            Some(text) => {
                let cell = cell_of(text.trim(), page.datatype);
                if cell.is_none() {
                    notes.push(format!(
                        "the nodata value '{text}' is not a value of its type, so it marks no cell"
                    ));
                }
                cell
            }
            None => None,
        };
        // As GDAL does, a color that means no data is transparent.
        if let (Some(nodata), Some(band)) = (&nodata, pam.bands.first_mut())
            && let [low, rest @ ..] = nodata.as_slice()
            && rest.iter().all(|b| *b == 0)
            && let Some(color) = band.palette.get_mut(usize::from(*low))
        {
            color[3] = 0;
        }
        Ok(Self {
            size: [page.width, page.height],
            geo,
            pam,
            nodata,
            notes,
        })
    }

    /// Adds a smaller copy, or notes that a further image does not carry over.
    fn level(&mut self, pages: &mut Pages<'_>, full: &Page, directory: Directory, levels: &mut Vec<usize>) {
        let at = directory.at;
        let number = match pages.add(directory) {
            Ok(number) => number,
            Err(why) => {
                self.notes.push(format!("a further image does not carry over: {why:#}"));
                return;
            }
        };
        let page = &pages.list[number];
        let same = page.samples == full.samples && page.datatype == full.datatype;
        if page.subfile & 4 != 0 {
            self.notes
                .push(format!("the mask of valid pixels at byte {at} does not carry over"));
        } else if page.subfile & 1 != 0 && same && page.width <= full.width && page.height <= full.height {
            levels.push(number);
        } else {
            self.notes.push(format!(
                "the image of {} × {} pixels whose directory is at byte {at} does not carry over: only the first image \
                 and its smaller copies do",
                page.width, page.height
            ));
        }
    }

    fn unpack(&self, page: &Page) -> Unpack {
        let of = |b: &Band| (b.scale.unwrap_or(1.0), b.offset.unwrap_or(0.0));
        Unpack {
            datatype: page.datatype,
            nodata: self.nodata.clone(),
            bands: self.pam.bands.iter().map(of).collect(),
        }
    }

    /// What a level means.
    fn pam_of(&self, page: &Page, level: usize) -> Pam {
        let item = |key: &str, value: String| (key.to_owned(), value);
        let structure = vec![
            item("DATASET_TYPE", "raster".to_owned()),
            item("DATA_TYPE", gdal_type(page.datatype).to_owned()),
            item("INTERLEAVE", "BAND".to_owned()),
            item("NBITS", (8 * page.datatype.size()).to_string()),
            item("X_SIZE", page.width.to_string()),
            item("Y_SIZE", page.height.to_string()),
        ];
        let full = Pam {
            structure,
            ..self.pam.clone()
        };
        if level == 0 {
            return full;
        }
        Pam {
            transform: self.geo.transform_of(self.size, [page.width, page.height]),
            control_points: Vec::new(),
            metadata: Vec::new(),
            overviews: 0,
            ..full
        }
    }

    fn array(&self, page: &Page, level: usize, unpacked: bool) -> Result<NewArray> {
        let axis = |name: &str, length: u64, chunk: u64| {
            let tile = if page.tiled && TILES.contains(&chunk) {
                chunk
            } else {
                TILE
            };
            let tile = tile.min(length);
            Dimension::new(name, Datatype::Uint64, 0_u64, length.div_ceil(tile) * tile - 1, tile)
        };
        let dimensions = vec![
            Dimension::new("BANDS", Datatype::Uint64, 1_u64, page.samples, 1_u64),
            axis("Y", page.height, page.chunk_height),
            axis("X", page.width, page.chunk_width),
        ];
        let attribute = if unpacked {
            pixels(VALUES, Datatype::Float64, None)
        } else {
            pixels(VALUES, page.datatype, self.nodata.clone())
        };
        let schema = Schema::new(ArrayType::Dense, dimensions, vec![attribute]);
        schema.check()?;
        let mut pam = self.pam_of(page, level);
        if unpacked {
            pam.bands.iter_mut().for_each(|b| (b.scale, b.offset) = (None, None));
        }
        let xml = MetaValue::bytes(Datatype::Uint8, pam.xml().as_bytes());
        let mut metadata = vec![entry("_gdal", xml), text("dataset_type", "raster")];
        if !unpacked {
            self.attribute_metadata(page, &mut metadata);
        }
        Ok(NewArray {
            path: format!("l_{level}"),
            schema,
            enumerations: Vec::new(),
            metadata,
            length: Length::Box(vec![page.samples, page.height, page.width]),
        })
    }

    /// The names of CF for what all bands agree on.
    fn attribute_metadata(&self, page: &Page, metadata: &mut Vec<Entry>) {
        let key = |name: &str| format!("__tiledb_attr.{VALUES}.{name}");
        if let Some(nodata) = &self.nodata {
            metadata.push(entry(key("missing_value"), MetaValue::bytes(page.datatype, nodata)));
        }
        let Some(first) = self.pam.bands.first() else { return };
        let all = |same: &dyn Fn(&Band) -> bool| self.pam.bands.iter().all(same);
        if let Some(scale) = first.scale.filter(|_| all(&|b| b.scale == first.scale)) {
            metadata.push(float(key("scale_factor"), scale));
        }
        if let Some(offset) = first.offset.filter(|_| all(&|b| b.offset == first.offset)) {
            metadata.push(float(key("add_offset"), offset));
        }
        if let Some(unit) = first.unit.as_ref().filter(|_| all(&|b| b.unit == first.unit)) {
            metadata.push(text(key("units"), unit));
        }
    }
}

/// The bands with their colors.
fn colors(file: &mut TiffFile, page: &Page) -> Result<Vec<Band>> {
    let mut bands = vec![Band::default(); usize::try_from(page.samples)?];
    let bits = page.bits == 1 && page.samples == 1;
    let names: &[&str] = match page.photometric {
        // YCbCr is decoded to RGB.
        2 | 6 => &["Red", "Green", "Blue"],
        _ if page.samples == 1 && (bits || page.directory.has(tag::COLOR_MAP)) => &["Palette"],
        5 => &["Cyan", "Magenta", "Yellow", "Black"],
        0 => &[],
        _ => &["Gray"],
    };
    for (band, name) in bands.iter_mut().zip(names) {
        band.color = Some((*name).to_owned());
    }
    if let (0 | 1, true, Some(band)) = (page.photometric, bits, bands.first_mut()) {
        let (black, white) = ([0, 0, 0, 255], [255; 4]);
        band.palette = if page.photometric == 0 {
            vec![white, black]
        } else {
            vec![black, white]
        };
    }
    let extra = file.integers(&page.directory, tag::EXTRA_SAMPLES)?;
    let start = bands.len().saturating_sub(extra.len());
    for (band, kind) in bands.iter_mut().skip(start).zip(&extra) {
        if matches!(kind, 1 | 2) {
            band.color = Some("Alpha".to_owned());
        }
    }
    let map = file.integers(&page.directory, tag::COLOR_MAP)?;
    if let ([_, ..], Some(band)) = (map.as_slice(), bands.first_mut()) {
        let count = map.len() / 3;
        let part = |from: usize, i: usize| map.get(from * count + i).map_or(0, |v| (v / 257) as u8);
        band.palette = (0..count).map(|i| [part(0, i), part(1, i), part(2, i), 255]).collect();
    }
    Ok(bands)
}

/// Reads the items of the tag GDAL_METADATA.
fn read_items(root: &Element, pam: &mut Pam) {
    for item in root.all("Item") {
        // GDAL escapes values twice.
        let value = unescape(&item.text);
        let name = item.attribute("name").unwrap_or_default();
        let Some(sample) = item.number::<usize>("sample") else {
            let domain = item.attribute("domain").unwrap_or_default();
            // The structure is that of the file.
            if domain == "IMAGE_STRUCTURE" {
                continue;
            }
            let new = (name.to_owned(), value);
            match pam.metadata.iter_mut().find(|(d, _)| d == domain) {
                Some((_, items)) => items.push(new),
                None => pam.metadata.push((domain.to_owned(), vec![new])),
            }
            continue;
        };
        let Some(band) = pam.bands.get_mut(sample) else {
            continue;
        };
        match item.attribute("role").unwrap_or_default() {
            "scale" => band.scale = value.trim().parse().ok(),
            "offset" => band.offset = value.trim().parse().ok(),
            "unittype" => band.unit = Some(value),
            "description" => band.description = Some(value),
            "colorinterp" => band.color = Some(value),
            _ => band.metadata.push((name.to_owned(), value)),
        }
    }
}

/// The bytes of a cell with the value that a text stands for, if its type has that value.
fn cell_of(text: &str, datatype: Datatype) -> Option<Vec<u8>> {
    let number = match text {
        "nan" | "NaN" | "-nan" => f64::NAN,
        text => text.parse::<f64>().ok()?,
    };
    let integer = || {
        text.parse::<i128>()
            .ok()
            .or_else(|| (number.fract() == 0.0).then_some(number as i128))
    };
    let bytes = match datatype {
        // Programs write more digits than the type has.
        Datatype::Float32 => (number as f32).to_le_bytes().to_vec(),
        Datatype::Float64 => number.to_le_bytes().to_vec(),
        _ => {
            let value = integer()?;
            Scalar::from_i128(datatype, value)?;
            value.to_le_bytes().get(..datatype.size())?.to_vec()
        }
    };
    Some(bytes)
}

/// GDAL's name of a type.
fn gdal_type(datatype: Datatype) -> &'static str {
    match datatype {
        Datatype::Int8 => "Int8",
        Datatype::Uint16 => "UInt16",
        Datatype::Int16 => "Int16",
        Datatype::Uint32 => "UInt32",
        Datatype::Int32 => "Int32",
        Datatype::Uint64 => "UInt64",
        Datatype::Int64 => "Int64",
        Datatype::Float32 => "Float32",
        Datatype::Float64 => "Float64",
        _ => "Byte",
    }
}
