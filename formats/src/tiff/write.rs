//! Writes rasters as tiled GeoTIFF, with the directory before the pixels, as in a COG.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hyperslab::Datatype;

use super::directory::tag;
use super::geo::{GeoKeys, Value, key};
use super::raster::TEXT_TAGS;
use super::wkt;
use crate::pam::{Band, Pam};
use hyperslab::internals::xml::escape;

/// The side of a tile.
const TILE: usize = 256;
/// Files that may grow larger have offsets of 64 bits.
const SMALL_BYTES_MAX: u64 = 3 << 30;

/// What a raster is, besides its cells.
#[derive(Debug, Clone)]
pub struct RasterInfo {
    /// The number of columns.
    pub width: u64,
    /// The number of rows.
    pub height: u64,
    /// The number of bands.
    pub bands: u64,
    /// The type of the cells.
    pub datatype: Datatype,
    /// The value of cells without data, as its text.
    pub nodata: Option<String>,
    /// GDAL's XML: the value of the metadata `_gdal`.
    pub xml: Option<String>,
    /// The first column and row of the selection, and the steps along columns and rows.
    pub window: [[u64; 2]; 2],
}

/// Writes the cells of a raster, band by band and row by row.
pub struct RasterWriter {
    info: RasterInfo,
    pam: Pam,
    /// The compressed tiles, one after another.
    tiles: File,
    lengths: Vec<u64>,
    /// Cells of the current row of tiles.
    rows: Vec<u8>,
    /// Rows of the current band that are done.
    done: u64,
    notes: Vec<String>,
}

impl RasterWriter {
    /// A writer that keeps compressed tiles in a temporary file until the end.
    ///
    /// # Errors
    /// TIFF has no such type, or the raster is empty or too large.
    pub fn new(info: RasterInfo) -> Result<Self> {
        ensure!(
            info.datatype.is_integer() || info.datatype.is_float(),
            "TIFF has no {} samples; select an attribute of numbers",
            info.datatype.name()
        );
        ensure!(
            info.width > 0 && info.height > 0 && info.bands > 0,
            "the selection is empty; select at least one cell"
        );
        let most = u64::from(u32::MAX);
        ensure!(
            info.width <= most && info.height <= most && info.bands <= 65535,
            "TIFF has at most 2^32 rows and columns and 65535 bands; select fewer cells"
        );
        let pam = match &info.xml {
            Some(xml) => Pam::parse(xml).context("the metadata '_gdal' is damaged")?,
            None => Pam::default(),
        };
        Ok(Self {
            pam,
            tiles: tempfile::tempfile().context("cannot make a temporary file")?,
            lengths: Vec::new(),
            rows: Vec::new(),
            done: 0,
            notes: Vec::new(),
            info,
        })
    }

    /// Adds the next cells, in little-endian byte order.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub fn push(&mut self, mut cells: &[u8]) -> Result<()> {
        while !cells.is_empty() {
            let rows = (self.info.height - self.done).min(TILE as u64) as usize;
            let bytes = rows * self.row_bytes();
            let (now, rest) = cells.split_at(cells.len().min(bytes - self.rows.len()));
            self.rows.extend_from_slice(now);
            cells = rest;
            if self.rows.len() == bytes {
                self.tiles_of(rows)?;
                self.done = (self.done + rows as u64) % self.info.height;
                self.rows.clear();
            }
        }
        Ok(())
    }

    fn row_bytes(&self) -> usize {
        self.info.width as usize * self.info.datatype.size()
    }

    /// Compresses the tiles of a row of tiles.
    fn tiles_of(&mut self, rows: usize) -> Result<()> {
        let size = self.info.datatype.size();
        let width = self.info.width as usize;
        let float = self.info.datatype.is_float();
        for left in (0..width).step_by(TILE) {
            let columns = TILE.min(width - left);
            let mut tile = vec![0; TILE * TILE * size];
            for (row, out) in tile.chunks_exact_mut(TILE * size).enumerate() {
                // Padding repeats the last cells, which compress to nothing.
                let from = &self.rows[row.min(rows - 1) * self.row_bytes()..][left * size..(left + columns) * size];
                out[..from.len()].copy_from_slice(from);
                let last = &from[from.len() - size..];
                out[from.len()..]
                    .chunks_exact_mut(size)
                    .for_each(|cell| cell.copy_from_slice(last));
                predict(out, size, float);
            }
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
            encoder.write_all(&tile)?;
            let packed = encoder.finish()?;
            self.tiles
                .write_all(&packed)
                .context("cannot write the temporary file")?;
            self.lengths.push(packed.len() as u64);
        }
        Ok(())
    }

    /// Writes the file. Returns what does not carry over, in a sentence each.
    ///
    /// # Errors
    /// Cells are missing, or the output cannot be written.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<Vec<String>> {
        let [across, down] = [self.info.width, self.info.height].map(|n| n.div_ceil(TILE as u64));
        let expected = across * down * self.info.bands;
        ensure!(self.lengths.len() as u64 == expected, "cells of the raster are missing");
        let big = self.lengths.iter().sum::<u64>() > SMALL_BYTES_MAX;
        let tags = self.tags();
        let head = directory(tags, &self.lengths, big)?;
        out.write_all(&head)?;
        self.tiles.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.tiles, &mut io::BufWriter::new(out))?;
        Ok(self.notes)
    }

    fn tags(&mut self) -> Vec<Tag> {
        let info = self.info.clone();
        let bands = info.bands as usize;
        let format = match info.datatype {
            d if d.is_float() => 3,
            d if d.physical().is_signed() => 2,
            _ => 1,
        };
        let bits = 8 * info.datatype.size() as u16;
        let predictor = if info.datatype.is_float() { 3 } else { 2 };
        let color = |n: usize| self.pam.bands.get(n).and_then(|b| b.color.as_deref());
        let rgb = [Some("Red"), Some("Green"), Some("Blue")] == [color(0), color(1), color(2)] && bands >= 3;
        let palette = self.pam.bands.first().map(|b| b.palette.clone()).unwrap_or_default();
        let palette = Some(palette).filter(|p| !p.is_empty() && bands == 1 && bits <= 16 && format == 1);
        let mut tags = vec![
            Tag::long(tag::WIDTH, info.width),
            Tag::long(tag::HEIGHT, info.height),
            Tag::shorts(tag::BITS, &vec![bits; bands]),
            Tag::shorts(tag::COMPRESSION, &[8]),
            Tag::shorts(
                tag::PHOTOMETRIC,
                &[if rgb {
                    2
                } else if palette.is_some() {
                    3
                } else {
                    1
                }],
            ),
            Tag::shorts(tag::SAMPLES, &[bands as u16]),
            Tag::shorts(tag::PLANAR, &[if bands > 1 { 2 } else { 1 }]),
            Tag::shorts(317, &[predictor]),
            Tag::long(tag::TILE_WIDTH, TILE as u64),
            Tag::long(tag::TILE_HEIGHT, TILE as u64),
            Tag::shorts(tag::SAMPLE_FORMAT, &vec![format; bands]),
        ];
        let colored = if rgb { 3 } else { 1 };
        if bands > colored {
            let extra: Vec<u16> = (colored..bands)
                .map(|n| if color(n) == Some("Alpha") { 2 } else { 0 })
                .collect();
            tags.push(Tag::shorts(tag::EXTRA_SAMPLES, &extra));
        }
        if let Some(palette) = palette {
            let part = |from: usize| (0..1_usize << bits).map(move |i| (from, i));
            let value = |(from, i): (usize, usize)| palette.get(i).map_or(0, |c| u16::from(c[from]) * 257);
            let map: Vec<u16> = (0..3).flat_map(part).map(value).collect();
            tags.push(Tag::shorts(tag::COLOR_MAP, &map));
        }
        if let Some(nodata) = &info.nodata {
            tags.push(Tag::text(tag::GDAL_NODATA, nodata));
        }
        self.place(&mut tags);
        self.items(&mut tags);
        tags
    }

    /// The tags that place the raster.
    fn place(&mut self, tags: &mut Vec<Tag>) {
        let point = self.item("AREA_OR_POINT") == Some("Point");
        let transform = self.pam.transform.map(|t| window_of(t, self.info.window));
        if let Some([x, a, b, y, c, d]) = transform {
            // Of a point, the file places the centre.
            let half = if point { 0.5 } else { 0.0 };
            let (x, y) = (x + half * (a + b), y + half * (c + d));
            if b == 0.0 && c == 0.0 && d < 0.0 {
                tags.push(Tag::doubles(tag::PIXEL_SCALE, &[a, -d, 0.0]));
                tags.push(Tag::doubles(tag::TIE_POINTS, &[0.0, 0.0, 0.0, x, y, 0.0]));
            } else {
                let matrix = [a, b, 0.0, x, c, d, 0.0, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
                tags.push(Tag::doubles(tag::TRANSFORMATION, &matrix));
            }
        } else if !self.pam.control_points.is_empty() {
            let [[left, top], [across, down]] = self.info.window;
            let half = if point { 0.5 } else { 0.0 };
            let moved = |[column, row, x, y, z]: &[f64; 5]| {
                let column = (column - left as f64) / across as f64 - half;
                [column, (row - top as f64) / down as f64 - half, 0.0, *x, *y, *z]
            };
            let points: Vec<f64> = self.pam.control_points.iter().flat_map(moved).collect();
            tags.push(Tag::doubles(tag::TIE_POINTS, &points));
        }
        let mut keys = GeoKeys::default();
        if let Some(crs) = &self.pam.crs {
            match system(crs, transform) {
                Some(found) => keys = found,
                None => self.notes.push(
                    "the coordinate system does not carry over: it has no EPSG code, and GeoTIFF no keys for it"
                        .to_owned(),
                ),
            }
        }
        match self.item("AREA_OR_POINT") {
            Some("Point") => keys.0.insert(key::RASTER_TYPE, Value::Code(2)),
            Some("Area") => keys.0.insert(key::RASTER_TYPE, Value::Code(1)),
            _ => None,
        };
        geo_keys(&keys, tags);
    }

    fn item(&self, name: &str) -> Option<&str> {
        let all = self.pam.metadata.iter().filter(|(domain, _)| domain.is_empty());
        let mut all = all.flat_map(|(_, items)| items);
        all.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The tags that GDAL shows as metadata, and its own tag for the rest.
    fn items(&self, tags: &mut Vec<Tag>) {
        let mut xml = String::new();
        let mut add = |attributes: String, value: &str| {
            // GDAL escapes values twice.
            xml += &format!("  <Item {attributes}>{}</Item>\n", escape(&escape(value)));
        };
        for (domain, items) in &self.pam.metadata {
            for (key, value) in items {
                if let Some((tag, _)) = TEXT_TAGS.iter().find(|(_, name)| domain.is_empty() && name == key) {
                    tags.push(Tag::text(*tag, value));
                } else if key != "AREA_OR_POINT" && domain != "IMAGE_STRUCTURE" {
                    let of = if domain.is_empty() {
                        String::new()
                    } else {
                        format!(" domain=\"{}\"", escape(domain))
                    };
                    add(format!("name=\"{}\"{of}", escape(key)), value);
                }
            }
        }
        for (number, band) in self.pam.bands.iter().take(self.info.bands as usize).enumerate() {
            let role = |name: &str, role: &str| format!("name=\"{name}\" sample=\"{number}\" role=\"{role}\"");
            for (name, value) in fields(band) {
                add(role(&name.to_uppercase(), name), &value);
            }
            for (key, value) in &band.metadata {
                add(format!("name=\"{}\" sample=\"{number}\"", escape(key)), value);
            }
        }
        if !xml.is_empty() {
            tags.push(Tag::text(
                tag::GDAL_METADATA,
                &format!("<GDALMetadata>\n{xml}</GDALMetadata>\n"),
            ));
        }
    }
}

/// The items of a band with a role.
fn fields(band: &Band) -> Vec<(&'static str, String)> {
    let all = [
        ("scale", band.scale.map(|n| n.to_string())),
        ("offset", band.offset.map(|n| n.to_string())),
        ("unittype", band.unit.clone()),
        ("description", band.description.clone()),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The transform of a part of a raster.
fn window_of([x, a, b, y, c, d]: [f64; 6], [[left, top], [across, down]]: [[u64; 2]; 2]) -> [f64; 6] {
    let [left, top, across, down] = [left, top, across, down].map(|n| n as f64);
    [
        x + left * a + top * b,
        a * across,
        b * down,
        y + left * c + top * d,
        c * across,
        d * down,
    ]
}

/// The keys of a coordinate system.
fn system(crs: &str, transform: Option<[f64; 6]>) -> Option<GeoKeys> {
    let coded = |geographic: bool, code: u64| {
        let (model, key) = if geographic {
            (2, key::GEOGRAPHIC)
        } else {
            (1, key::PROJECTED)
        };
        GeoKeys([(key::MODEL_TYPE, Value::Code(model)), (key, Value::Code(code))].into())
    };
    if let Some(codes) = crs.strip_prefix("EPSG:") {
        let (code, vertical) = codes.split_once('+').map_or((codes, None), |(a, b)| (a, Some(b)));
        let code = code.parse::<u16>().ok()?.into();
        // The code alone does not say what it is. The registry has nearly all geographic systems in this range.
        let degrees = transform.is_none_or(|t| t[0].abs() <= 361.0 && t[3].abs() <= 91.0 && t[1].abs() < 90.0);
        let listed = (4001..5000).contains(&code) || matches!(code, 6318 | 7844 | 9057);
        let mut keys = coded(degrees && listed, code);
        if let Some(vertical) = vertical.and_then(|v| v.parse::<u16>().ok()) {
            keys.0.insert(key::VERTICAL, Value::Code(vertical.into()));
        }
        return Some(keys);
    }
    match (crs.get(..6)?, authority(crs)) {
        ("GEOGCS" | "GEOGCR", Some(code)) => Some(coded(true, code.into())),
        ("PROJCS" | "PROJCR", Some(code)) => Some(coded(false, code.into())),
        ("GEOGCS" | "PROJCS", None) => wkt::keys(crs),
        _ => None,
    }
}

/// The tags of keys.
fn geo_keys(keys: &GeoKeys, tags: &mut Vec<Tag>) {
    if keys.0.is_empty() {
        return;
    }
    let (mut list, mut doubles, mut text) = (vec![1, 1, 0, keys.0.len() as u16], Vec::new(), String::new());
    for (key, value) in &keys.0 {
        list.extend(match value {
            Value::Code(code) => [*key, 0, 1, *code as u16],
            Value::Numbers(numbers) => {
                doubles.extend_from_slice(numbers);
                let at = doubles.len() - numbers.len();
                [*key, tag::GEO_DOUBLES, numbers.len() as u16, at as u16]
            }
            Value::Text(name) => {
                let at = text.len();
                text += &format!("{name}|");
                [*key, tag::GEO_TEXT, (text.len() - at) as u16, at as u16]
            }
        });
    }
    tags.push(Tag::shorts(tag::GEO_KEYS, &list));
    if !doubles.is_empty() {
        tags.push(Tag::doubles(tag::GEO_DOUBLES, &doubles));
    }
    if !text.is_empty() {
        tags.push(Tag::text(tag::GEO_TEXT, &text));
    }
}

/// The EPSG code at the end of WKT, which is that of the whole.
fn authority(wkt: &str) -> Option<u16> {
    let end = wkt.trim_end().strip_suffix(']')?;
    let at = end
        .rfind(",AUTHORITY[\"EPSG\",")
        .or_else(|| end.rfind(",ID[\"EPSG\","))?;
    let inner = end.get(at..)?.rsplit(',').next()?.strip_suffix(']')?;
    inner.trim_matches('"').parse().ok()
}

/// Replaces the cells of a row by differences, which compress better.
fn predict(row: &mut [u8], size: usize, float: bool) {
    if float {
        // The bytes of all cells, most significant first, each by the difference to the one before.
        let cells = row.len() / size;
        let mut planes = vec![0; row.len()];
        for (i, cell) in row.chunks_exact(size).enumerate() {
            for (k, byte) in cell.iter().rev().enumerate() {
                planes[k * cells + i] = *byte;
            }
        }
        for i in (1..planes.len()).rev() {
            planes[i] = planes[i].wrapping_sub(planes[i - 1]);
        }
        row.copy_from_slice(&planes);
        return;
    }
    let number = |cell: &[u8]| cell.iter().rev().fold(0_u64, |n, b| n << 8 | u64::from(*b));
    for i in (1..row.len() / size).rev() {
        let (before, cell) = row[(i - 1) * size..(i + 1) * size].split_at(size);
        let difference = number(cell).wrapping_sub(number(before)).to_le_bytes();
        row[i * size..(i + 1) * size].copy_from_slice(&difference[..size]);
    }
}

/// A tag with its values in little-endian byte order.
struct Tag {
    id: u16,
    kind: u16,
    count: u64,
    value: Vec<u8>,
}

impl Tag {
    fn shorts(id: u16, values: &[u16]) -> Self {
        let value = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self {
            id,
            kind: 3,
            count: values.len() as u64,
            value,
        }
    }

    fn long(id: u16, value: u64) -> Self {
        Self {
            id,
            kind: 4,
            count: 1,
            value: (value as u32).to_le_bytes().to_vec(),
        }
    }

    fn doubles(id: u16, values: &[f64]) -> Self {
        let value = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self {
            id,
            kind: 12,
            count: values.len() as u64,
            value,
        }
    }

    fn text(id: u16, text: &str) -> Self {
        let value = [text.as_bytes(), b"\0"].concat();
        Self {
            id,
            kind: 2,
            count: value.len() as u64,
            value,
        }
    }

    /// Offsets or lengths: of 64 bits in a BigTIFF.
    fn offsets(id: u16, values: &[u64], big: bool) -> Self {
        let bytes = if big { 8 } else { 4 };
        let value = values
            .iter()
            .flat_map(|v| v.to_le_bytes().into_iter().take(bytes))
            .collect();
        Self {
            id,
            kind: if big { 16 } else { 4 },
            count: values.len() as u64,
            value,
        }
    }
}

/// The header and the directory of a file whose tiles follow at once.
fn directory(mut tags: Vec<Tag>, lengths: &[u64], big: bool) -> Result<Vec<u8>> {
    tags.push(Tag::offsets(tag::TILE_BYTES, lengths, big));
    tags.push(Tag::offsets(tag::TILE_OFFSETS, lengths, big));
    tags.sort_by_key(|t| t.id);
    let word: u64 = if big { 8 } else { 4 };
    let (header, count, entry) = if big { (16, 8, 20) } else { (8, 2, 12) };
    let values_at = header + count + tags.len() as u64 * entry + word;
    let outside = |t: &Tag| {
        if t.value.len() as u64 > word {
            (t.value.len() as u64).next_multiple_of(8)
        } else {
            0
        }
    };
    let end = (values_at + tags.iter().map(outside).sum::<u64>()).next_multiple_of(16);
    let offsets: Vec<u64> = lengths
        .iter()
        .scan(end, |at, n| Some(std::mem::replace(at, *at + n)))
        .collect();
    let last = offsets.last().copied().unwrap_or(0) + lengths.last().copied().unwrap_or(0);
    ensure!(big || last <= u64::from(u32::MAX), "the file is too large");
    let place = tags
        .iter_mut()
        .find(|t| t.id == tag::TILE_OFFSETS)
        .context("there is no offset")?;
    *place = Tag::offsets(tag::TILE_OFFSETS, &offsets, big);
    let take = |n: u64, bytes: u64| n.to_le_bytes().into_iter().take(bytes as usize);
    let mut out: Vec<u8> = b"II".to_vec();
    if big {
        out.extend([43, 0, 8, 0, 0, 0]);
    } else {
        out.extend([42, 0]);
    }
    out.extend(take(header, word));
    out.extend(take(tags.len() as u64, count));
    let mut values: Vec<u8> = Vec::new();
    for t in &tags {
        out.extend([t.id.to_le_bytes(), t.kind.to_le_bytes()].concat());
        out.extend(take(t.count, word));
        if outside(t) == 0 {
            let mut inline = t.value.clone();
            inline.resize(word as usize, 0);
            out.extend(inline);
        } else {
            out.extend(take(values_at + values.len() as u64, word));
            values.extend_from_slice(&t.value);
            values.resize(values.len().next_multiple_of(8), 0);
        }
    }
    out.extend(take(0, word));
    out.extend(values);
    out.resize(end as usize, 0);
    Ok(out)
}
