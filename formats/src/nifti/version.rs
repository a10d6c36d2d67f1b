//! Turns a header of version 1 into one of version 2, for axes that are longer than version 1 can say.
//!
//! The places of fields are those of `nifti1.h` and `nifti2.h`, the headers of the standard.

use anyhow::{Context as _, Result};

use super::header::{Fields, Header};
use super::write::Writer;

/// The bytes by which the header grows.
const GROWTH: u64 = 540 - 348;

/// Integers: their places in both versions, their bytes in version 2, and how many there are. In order: dim, intent_code,
/// datatype, bitpix, slice_start, slice_end, qform_code, sform_code.
const INTEGERS: [(usize, usize, usize, usize); 8] = [
    (40, 16, 8, 8),
    (68, 504, 4, 1),
    (70, 12, 2, 1),
    (72, 14, 2, 1),
    (74, 224, 8, 1),
    (120, 232, 8, 1),
    (252, 344, 4, 1),
    (254, 348, 4, 1),
];
/// Floats: their places in both versions, and how many there are. In order: intent, pixdim, scl, cal, slice_duration and
/// toffset, quatern and qoffset, srow.
const FLOATS: [(usize, usize, usize); 7] = [
    (56, 80, 3),
    (76, 104, 8),
    (112, 176, 2),
    (124, 192, 2),
    (132, 208, 2),
    (256, 352, 6),
    (280, 400, 12),
];
/// Bytes that are integers in version 2: slice_code, xyzt_units.
const BYTES: [(usize, usize); 2] = [(122, 496), (123, 500)];
/// Bytes that stay: their places in both versions, and how many there are. In order: dim_info, descrip, aux_file,
/// intent_name.
const SAME: [(usize, usize, usize); 4] = [(39, 524, 1), (148, 240, 80), (228, 320, 24), (328, 508, 16)];

/// The same header in version 2, in the same byte order.
///
/// # Errors
/// The header is damaged.
pub(super) fn second(old: &Header) -> Result<Header> {
    let from = Fields::of(&old.raw);
    let mut to = Writer::new(true, old.big_endian);
    for (one, two, bytes, count) in INTEGERS {
        for n in 0..count {
            let value = from.integer(one + 2 * n, 0, 2)?;
            to.integer(0, two + bytes * n, bytes, value as u64);
        }
    }
    for (one, two, count) in FLOATS {
        for n in 0..count {
            to.float(0, two, n, from.float(one, 0, n)?);
        }
    }
    for (one, two) in BYTES {
        to.byte(0, two, *old.raw.get(one).context("the header is cut off")?);
    }
    for (one, two, count) in SAME {
        let bytes = old.raw.get(one..one + count).context("the header is cut off")?;
        to.same(two, bytes);
    }
    to.data_at(old.data_at + GROWTH);
    Header::decode(&to.raw)
}
