//! The header of a NIfTI file, version 1 or 2.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::Datatype;

/// The most bytes of a header.
pub(super) const BYTES_MAX: usize = 540;

/// What a header says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    /// Its bytes, as they are in the file.
    pub(super) raw: Vec<u8>,
    pub(super) big_endian: bool,
    /// The lengths of the axes, fastest first: x, y, z, t and up to three more.
    pub(super) lengths: Vec<u64>,
    /// The distance of voxels along each axis.
    pub(super) steps: Vec<f64>,
    pub(super) datatype: Datatype,
    /// Numbers in a voxel: 3 or 4 for colors.
    pub(super) samples: u64,
    /// Where the voxels start in the file.
    pub(super) data_at: u64,
    /// The scale and the offset of stored numbers, unless they change nothing.
    pub(super) packing: Option<[f64; 2]>,
    /// From voxel x, y, z to millimetres, row by row.
    pub(super) affine: [f64; 16],
    /// The code of the units of space and time.
    units: u8,
    /// The range to show, unless it is empty.
    pub(super) range: Option<[f64; 2]>,
}

/// Reads numbers at the offsets of a version.
pub(super) struct Fields<'a> {
    raw: &'a [u8],
    big_endian: bool,
    two: bool,
}

impl Fields<'_> {
    fn bits(&self, at: usize, bytes: usize) -> Result<u64> {
        let raw = self.raw.get(at..at + bytes).context("the header is cut off")?;
        let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
        Ok(if self.big_endian {
            raw.iter().fold(0, add)
        } else {
            raw.iter().rev().fold(0, add)
        })
    }

    /// An integer: of 16 bits in version 1 and of `bytes` in version 2.
    pub(super) fn integer(&self, one: usize, two: usize, bytes: usize) -> Result<i64> {
        Ok(match (self.two, bytes) {
            (false, _) | (true, 2) => i64::from(self.bits(if self.two { two } else { one }, 2)? as u16 as i16),
            (true, 4) => i64::from(self.bits(two, 4)? as u32 as i32),
            (true, _) => self.bits(two, 8)? as i64,
        })
    }

    /// A float: of 32 bits in version 1 and 64 in version 2. `step` counts on from the first of several.
    pub(super) fn float(&self, one: usize, two: usize, step: usize) -> Result<f64> {
        Ok(if self.two {
            f64::from_bits(self.bits(two + 8 * step, 8)?)
        } else {
            f64::from(f32::from_bits(self.bits(one + 4 * step, 4)? as u32))
        })
    }
}

impl Header {
    /// Decodes a header. `raw` are the first bytes of the file, as many as there are up to [`BYTES_MAX`].
    pub(super) fn decode(raw: &[u8]) -> Result<Self> {
        let size = raw
            .first_chunk::<4>()
            .context("this is not a NIfTI file: it is shorter than 4 bytes")?;
        let (two, big_endian) = match (u32::from_le_bytes(*size), u32::from_be_bytes(*size)) {
            (348, _) => (false, false),
            (_, 348) => (false, true),
            (540, _) => (true, false),
            (_, 540) => (true, true),
            _ => bail!("this is not a NIfTI file: it does not start with 348 or 540"),
        };
        let fields = Fields { raw, big_endian, two };
        let (bytes, magic) = if two {
            (540, raw.get(4..8))
        } else {
            (348, raw.get(344..348))
        };
        match magic.context("the header is cut off")? {
            b"n+1\0" | b"n+2\0" => {}
            b"ni1\0" | b"ni2\0" => bail!(
                "its voxels are in a file of their own; store both as one .nii file first, for example with nibabel"
            ),
            _ => bail!(
                "this is not a NIfTI file: its header has no 'n+1' or 'n+2'; convert Analyze files with nibabel first"
            ),
        }
        let (datatype, samples) = datatype(fields.integer(70, 12, 2)?)?;
        let axes = fields.integer(40, 16, 8)?;
        ensure!((1..=7).contains(&axes), "it has {axes} axes");
        let (mut lengths, mut steps) = (Vec::new(), Vec::new());
        for axis in 1..=axes as usize {
            let length = fields.integer(40 + 2 * axis, 16 + 8 * axis, 8)?;
            ensure!(length > 0, "the axis {axis} has the length {length}");
            lengths.push(length as u64);
            steps.push(fields.float(76, 104, axis)?.abs());
        }
        let data_at = if two {
            fields.integer(0, 168, 8)? as f64
        } else {
            fields.float(108, 0, 0)?
        };
        ensure!(
            data_at >= bytes as f64 && data_at < 1e18,
            "its voxels start at byte {data_at}, within the header"
        );
        let [slope, intercept] = [fields.float(112, 176, 0)?, fields.float(116, 184, 0)?];
        let packs = slope != 0.0 && slope.is_finite() && intercept.is_finite() && (slope, intercept) != (1.0, 0.0);
        let [high, low] = [fields.float(124, 192, 0)?, fields.float(128, 200, 0)?];
        Ok(Self {
            big_endian,
            samples,
            data_at: data_at as u64,
            packing: packs.then_some([slope, intercept]),
            affine: affine(raw)?,
            units: fields.bits(if two { 500 } else { 123 }, if two { 4 } else { 1 })? as u8,
            range: (low < high).then_some([low, high]),
            raw: raw.get(..bytes).context("the header is cut off")?.to_vec(),
            lengths,
            steps,
            datatype,
        })
    }

    /// Whether it is of version 2.
    pub(super) fn is_second(&self) -> bool {
        self.raw.len() == BYTES_MAX
    }

    /// The bytes of all voxels, unless there are too many.
    pub(super) fn data_bytes(&self) -> Option<u64> {
        let cells = self.lengths.iter().try_fold(self.samples, |n, l| n.checked_mul(*l))?;
        cells.checked_mul(self.datatype.size() as u64)
    }

    /// The unit of lengths, if the header says so.
    pub(super) fn space_unit(&self) -> Option<&'static str> {
        match self.units & 7 {
            1 => Some("m"),
            2 => Some("mm"),
            3 => Some("µm"),
            _ => None,
        }
    }

    /// The unit of time, if the header says so.
    pub(super) fn time_unit(&self) -> Option<&'static str> {
        match self.units & 0x38 {
            8 => Some("s"),
            16 => Some("ms"),
            24 => Some("µs"),
            _ => None,
        }
    }
}

fn datatype(code: i64) -> Result<(Datatype, u64)> {
    Ok(match code {
        2 => (Datatype::Uint8, 1),
        4 => (Datatype::Int16, 1),
        8 => (Datatype::Int32, 1),
        16 => (Datatype::Float32, 1),
        64 => (Datatype::Float64, 1),
        128 => (Datatype::Uint8, 3),
        256 => (Datatype::Int8, 1),
        512 => (Datatype::Uint16, 1),
        768 => (Datatype::Uint32, 1),
        1024 => (Datatype::Int64, 1),
        1280 => (Datatype::Uint64, 1),
        2304 => (Datatype::Uint8, 4),
        32 | 1792 | 2048 => bail!("its voxels are complex numbers, which are not supported"),
        other => bail!("its voxels have the datatype {other}, which is not supported"),
    })
}

/// The code of voxels of this type with this many numbers.
pub(super) fn code(of: Datatype, samples: u64) -> Option<u64> {
    let codes = [2, 4, 8, 16, 64, 128, 256, 512, 768, 1024, 1280, 2304];
    codes
        .into_iter()
        .find(|code| datatype(*code).ok() == Some((of, samples)))
        .map(|code| code as u64)
}

/// The code of a unit, and by which lengths in this unit are multiplied. Each unit of length is 1000 times the one with the
/// next code, and the codes of lengths are below [`TIMES`].
pub(super) fn unit_code(unit: &str) -> Option<(u8, f64)> {
    Some(match unit {
        "m" | "metre" | "meter" => (1, 1.0),
        "mm" | "millimeter" | "millimetre" => (2, 1.0),
        "cm" => (2, 10.0),
        "µm" | "μm" | "um" | "micrometer" | "micrometre" => (3, 1.0),
        "nm" | "nanometer" | "nanometre" => (3, 1e-3),
        "s" | "second" => (8, 1.0),
        "ms" | "millisecond" => (16, 1.0),
        "µs" | "μs" | "us" | "microsecond" => (24, 1.0),
        _ => return None,
    })
}

/// The first code of a unit of time.
pub(super) const TIMES: u8 = 8;

/// From voxel x, y, z to a place: three rows.
pub(super) type Map = [[f64; 4]; 3];

impl<'a> Fields<'a> {
    pub(super) fn of(raw: &'a [u8]) -> Self {
        let size = raw.first_chunk::<4>().copied().unwrap_or_default();
        let big_endian = matches!(u32::from_be_bytes(size), 348 | 540);
        let two = raw.len() >= 540 && [u32::from_le_bytes(size), u32::from_be_bytes(size)].contains(&540);
        Self { raw, big_endian, two }
    }
}

impl Header {
    /// The distance of voxels along an axis, from 1, as it is in the file.
    pub(super) fn signed_step(&self, axis: usize) -> Result<f64> {
        Fields::of(&self.raw).float(76, 104, axis)
    }

    /// The time of the first volume.
    pub(super) fn delay(&self) -> Result<f64> {
        Fields::of(&self.raw).float(136, 216, 0)
    }
}

/// The map of the standard's method 3, if the header has it.
pub(super) fn srow(raw: &[u8]) -> Result<Option<Map>> {
    let fields = Fields::of(raw);
    if fields.integer(254, 348, 4)? <= 0 {
        return Ok(None);
    }
    let mut map = Map::default();
    for (place, value) in map.iter_mut().flatten().enumerate() {
        *value = fields.float(280, 400, place)?;
    }
    Ok(Some(map))
}

/// The map of the standard's method 2, if the header has it.
pub(super) fn quaternion(raw: &[u8]) -> Result<Option<Map>> {
    let fields = Fields::of(raw);
    if fields.integer(252, 344, 4)? <= 0 {
        return Ok(None);
    }
    let part = |n: usize| fields.float(256, 352, n);
    let (b, c, d) = (part(0)?, part(1)?, part(2)?);
    let squares = b * b + c * c + d * d;
    // As the library of the standard does: the header may have rounded a half turn.
    let (a, by) = if 1.0 - squares < 1e-7 {
        (0.0, squares.sqrt().recip())
    } else {
        ((1.0 - squares).sqrt(), 1.0)
    };
    let (b, c, d) = (b * by, c * by, d * by);
    let rotation = [
        [
            a * a + b * b - c * c - d * d,
            2.0 * (b * c - a * d),
            2.0 * (b * d + a * c),
        ],
        [
            2.0 * (b * c + a * d),
            a * a + c * c - b * b - d * d,
            2.0 * (c * d - a * b),
        ],
        [
            2.0 * (b * d - a * c),
            2.0 * (c * d + a * b),
            a * a + d * d - b * b - c * c,
        ],
    ];
    let step = |axis: usize| fields.float(76, 104, axis);
    let mirror = if step(0)? < 0.0 { -1.0 } else { 1.0 };
    let sizes = [step(1)?, step(2)?, step(3)? * mirror];
    let mut map = Map::default();
    for ((row, turned), at) in map.iter_mut().zip(rotation).zip(0..) {
        for (axis, size) in sizes.iter().enumerate() {
            row[axis] = turned[axis] * size;
        }
        row[3] = fields.float(268, 376, at)?;
    }
    Ok(Some(map))
}

/// The standard's method 3, else 2, else 1.
fn affine(raw: &[u8]) -> Result<[f64; 16]> {
    let map = match srow(raw)? {
        Some(map) => Some(map),
        None => quaternion(raw)?,
    };
    let mut affine = [0.0; 16];
    affine[15] = 1.0;
    match map {
        Some(map) => affine
            .iter_mut()
            .zip(map.iter().flatten())
            .for_each(|(a, value)| *a = *value),
        None => {
            for axis in 0..3 {
                affine[axis * 5] = Fields::of(raw).float(76, 104, axis + 1)?;
            }
        }
    }
    Ok(affine)
}
