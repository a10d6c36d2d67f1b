//! The header of a NIfTI file that is written, and its voxels.
//!
//! The crate `nifti` writes volumes that are whole in memory, so the header is made here and the voxels are streamed.

use anyhow::{Context as _, Result, ensure};
use hyperslab::Datatype;

use super::header::{self, Header, Map};
use super::version;

/// The longest axis of version 1.
const LENGTH_MAX: u64 = i16::MAX as u64;
/// The bytes between a header and the voxels that say that there are no extensions.
const NO_EXTENSIONS: u64 = 4;
/// The most bytes that a header may leave empty before the voxels.
const GAP_MAX: u64 = 16 << 20;

/// The voxels of a file, and where they are.
#[derive(Debug, Clone, Default)]
pub struct NiftiVolume {
    /// The lengths of the axes, fastest first: x, y, z, t and up to three more.
    pub lengths: Vec<u64>,
    /// The first position along each axis of the imported file, and the number of positions from one to the next.
    pub windows: Vec<[u64; 2]>,
    /// The type of the numbers.
    pub datatype: Option<Datatype>,
    /// Numbers in a voxel: 3 or 4 for colors.
    pub samples: u64,
    /// The scale and the offset of stored numbers.
    pub packing: Option<[f64; 2]>,
    /// The distance of voxels along each axis with its unit, for a file without an imported header.
    pub steps: Vec<Option<(f64, Option<String>)>>,
    /// The header of the imported file.
    pub header: Option<Vec<u8>>,
    /// The bytes after the header of the imported file.
    pub extensions: Option<Vec<u8>>,
}

impl NiftiVolume {
    /// Whether a file can hold voxels of this type, with this many numbers in each.
    pub fn holds(datatype: Datatype, samples: u64) -> bool {
        header::code(datatype, samples).is_some()
    }

    /// Everything before the voxels, and whether their numbers are big-endian.
    ///
    /// # Errors
    /// The type or the number of axes cannot be stored, or the imported header is damaged.
    pub fn start(&self) -> Result<(Vec<u8>, bool)> {
        ensure!(
            (1..=7).contains(&self.lengths.len()),
            "a NIfTI file has one to seven axes, and this array has {}",
            self.lengths.len()
        );
        let two = self.lengths.iter().any(|n| *n > LENGTH_MAX);
        let decoded = |raw: &Vec<u8>| {
            let old = Header::decode(raw)?;
            // An axis may have grown beyond the lengths of version 1.
            let grows = two && !old.is_second();
            if grows { version::second(&old) } else { Ok(old) }
        };
        let old = self.header.as_ref().map(decoded).transpose();
        let old = old.context("`nifti_header` is damaged")?;
        let mut fields = match &old {
            Some(old) => Writer::of(old),
            None => Writer::new(two, false),
        };
        match &old {
            Some(old) => self.adapt(old, &mut fields)?,
            None => self.fresh(&mut fields)?,
        }
        self.shape(old.as_ref(), &mut fields)?;
        let header_bytes = fields.raw.len() as u64;
        let gap = match (&self.extensions, &old) {
            (Some(extensions), _) => extensions.len() as u64,
            (None, Some(old)) if old.data_at - header_bytes <= GAP_MAX => old.data_at - header_bytes,
            (None, _) => NO_EXTENSIONS,
        };
        fields.data_at(header_bytes + gap);
        let big_endian = fields.big_endian;
        let mut raw = fields.raw;
        match &self.extensions {
            Some(extensions) => raw.extend_from_slice(extensions),
            None => raw.resize(usize::try_from(header_bytes + gap)?, 0),
        }
        Ok((raw, big_endian))
    }

    /// Lengths and type.
    fn shape(&self, old: Option<&Header>, fields: &mut Writer) -> Result<()> {
        let datatype = self.datatype.context("the type of the voxels is unknown")?;
        let code = header::code(datatype, self.samples).context("a NIfTI file cannot hold voxels of this type")?;
        let known = old.map_or(0, |old| old.lengths.len());
        let used = self.lengths.iter().rposition(|n| *n > 1).map_or(1, |last| last + 1);
        let axes = known.max(used).max(if old.is_some() { 1 } else { self.lengths.len() });
        fields.integer(40, 16, 8, axes as u64);
        for axis in 1..=axes {
            let length = self.lengths.get(axis - 1).copied().unwrap_or(1);
            fields.integer(40 + 2 * axis, 16 + 8 * axis, 8, length);
        }
        fields.integer(70, 12, 2, code);
        fields.integer(72, 14, 2, datatype.size() as u64 * 8 * self.samples);
        let stored = old.and_then(|old| old.packing);
        if self.packing != stored {
            let [slope, intercept] = self.packing.unwrap_or([1.0, 0.0]);
            fields.float(112, 176, 0, slope);
            fields.float(116, 184, 0, intercept);
        }
        Ok(())
    }

    /// Moves the imported header to the selected voxels.
    fn adapt(&self, old: &Header, fields: &mut Writer) -> Result<()> {
        let window = |axis: usize| self.windows.get(axis).copied().unwrap_or([0, 1]);
        let moved = |map: &Map| {
            let mut moved = *map;
            for (row, origin) in moved.iter_mut().zip(map) {
                for axis in 0..3 {
                    let [start, step] = window(axis);
                    row[3] += origin[axis] * start as f64;
                    row[axis] = origin[axis] * step as f64;
                }
            }
            moved
        };
        let is_moved = (0..3).any(|axis| window(axis) != [0, 1]);
        if let (Some(map), true) = (header::srow(&old.raw)?, is_moved) {
            for (place, value) in moved(&map).iter().flatten().enumerate() {
                fields.float(280, 400, place, *value);
            }
        }
        if let (Some(map), true) = (header::quaternion(&old.raw)?, is_moved) {
            for (row, values) in moved(&map).iter().enumerate() {
                fields.float(268, 376, row, values[3]);
            }
        }
        let [first, step] = window(3);
        if first > 0 {
            let delay = old.signed_step(4)? * first as f64;
            fields.float(136, 216, 0, old.delay()? + delay);
        }
        for axis in (0..self.lengths.len()).filter(|axis| window(*axis)[1] > 1) {
            let by = if axis == 3 { step } else { window(axis)[1] };
            fields.float(76, 104, axis + 1, old.signed_step(axis + 1)? * by as f64);
        }
        let slices = old.lengths.get(2).copied().unwrap_or(1);
        if window(2) != [0, 1] || self.lengths.get(2).copied().unwrap_or(1) != slices {
            // The order of slices in time is valid only for the whole volume.
            fields.integer(74, 224, 8, 0);
            fields.integer(120, 232, 8, 0);
            fields.byte(122, 496, 0);
        }
        Ok(())
    }

    /// The code and the factor of an axis's unit, if a header can say it.
    fn unit(&self, axis: usize) -> Option<(u8, f64)> {
        let (_, unit) = self.steps.get(axis)?.as_ref()?;
        header::unit_code(unit.as_deref()?)
    }

    /// The unit of a spatial axis, if it is a unit of length.
    fn length_unit(&self, axis: usize) -> Option<(u8, f64)> {
        self.unit(axis).filter(|(code, _)| *code < header::TIMES)
    }

    /// Whether an axis has a unit other than a length, such as degrees.
    fn is_no_length(&self, axis: usize) -> bool {
        let has_unit = matches!(self.steps.get(axis), Some(Some((_, Some(_)))));
        has_unit && self.length_unit(axis).is_none()
    }

    /// A header for an array of another application.
    fn fresh(&self, fields: &mut Writer) -> Result<()> {
        // Lengths are written in the unit of the first axis that has one.
        let space = (0..3).find_map(|axis| self.length_unit(axis));
        let time = self.unit(3).filter(|(code, _)| *code >= header::TIMES);
        for axis in 0..self.lengths.len() {
            let step = self.steps.get(axis).and_then(Option::as_ref);
            let by = match (axis, space) {
                (0..3, Some(space)) if !self.is_no_length(axis) => {
                    in_unit(self.length_unit(axis).unwrap_or(space), space.0)
                }
                _ => 1.0,
            };
            let [_, every] = self.windows.get(axis).copied().unwrap_or([0, 1]);
            let size = step.map_or(1.0, |(step, _)| step.abs() * by) * every as f64;
            fields.float(76, 104, axis + 1, size);
        }
        fields.float(76, 104, 0, 1.0);
        let code = |unit: Option<(u8, f64)>| unit.map_or(0, |(code, _)| code);
        // A header has one unit for all spatial axes.
        let space = space.filter(|_| !(0..3).any(|axis| self.is_no_length(axis)));
        fields.byte(123, 500, code(space) | code(time));
        if self.packing.is_none() {
            fields.float(112, 176, 0, 1.0);
        }
        Ok(())
    }
}

/// By which lengths in a unit are multiplied to be in the unit of a header with this code.
fn in_unit((code, by): (u8, f64), header: u8) -> f64 {
    by * 1000_f64.powi(i32::from(header) - i32::from(code))
}

/// Reverses the bytes of little-endian numbers, for a big-endian file.
pub fn big_endian(datatype: Datatype, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.chunks_exact_mut(datatype.size()).for_each(<[u8]>::reverse);
    bytes
}

/// A header that is being written.
pub(super) struct Writer {
    pub(super) raw: Vec<u8>,
    big_endian: bool,
    two: bool,
}

impl Writer {
    fn of(old: &Header) -> Self {
        Self {
            raw: old.raw.clone(),
            big_endian: old.big_endian,
            two: old.is_second(),
        }
    }

    pub(super) fn new(two: bool, big_endian: bool) -> Self {
        let mut raw = vec![0; if two { 540 } else { 348 }];
        let size = raw.len() as u32;
        raw[..4].copy_from_slice(&if big_endian {
            size.to_be_bytes()
        } else {
            size.to_le_bytes()
        });
        match two {
            true => raw[4..12].copy_from_slice(b"n+2\0\r\n\x1a\n"),
            false => raw[344..348].copy_from_slice(b"n+1\0"),
        }
        Self { raw, big_endian, two }
    }

    fn bits(&mut self, at: usize, bytes: usize, value: u64) {
        let mut value = value.to_le_bytes();
        let value = &mut value[..bytes];
        if self.big_endian {
            value.reverse();
        }
        self.raw[at..at + bytes].copy_from_slice(value);
    }

    /// An integer of 16 bits in version 1 and of `bytes` in version 2.
    pub(super) fn integer(&mut self, one: usize, two: usize, bytes: usize, value: u64) {
        match self.two {
            true => self.bits(two, bytes, value),
            false => self.bits(one, 2, value),
        }
    }

    /// A byte in version 1 and an integer of 32 bits in version 2.
    pub(super) fn byte(&mut self, one: usize, two: usize, value: u8) {
        match self.two {
            true => self.bits(two, 4, value.into()),
            false => self.bits(one, 1, value.into()),
        }
    }

    /// A float of 32 bits in version 1 and of 64 in version 2. `step` counts on from the first of several.
    pub(super) fn float(&mut self, one: usize, two: usize, step: usize, value: f64) {
        match self.two {
            true => self.bits(two + 8 * step, 8, value.to_bits()),
            false => self.bits(one + 4 * step, 4, (value as f32).to_bits().into()),
        }
    }

    /// Bytes that are the same in both versions, at their place in version 2.
    pub(super) fn same(&mut self, two: usize, bytes: &[u8]) {
        self.raw[two..two + bytes.len()].copy_from_slice(bytes);
    }

    /// Where the voxels start.
    pub(super) fn data_at(&mut self, at: u64) {
        match self.two {
            true => self.bits(168, 8, at),
            false => self.bits(108, 4, (at as f32).to_bits().into()),
        }
    }
}
