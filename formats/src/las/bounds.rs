//! The box of all points. Headers may be wrong about it.

use anyhow::{Context as _, Result, ensure};
use las::Header;

use super::points::Points;
use super::{AXES, stored, transforms};

/// Points that are read at a time.
const POINTS: u64 = 1 << 16;
/// The least and the greatest value of each axis.
pub(super) type Bounds = [[f64; 2]; 3];

/// The box of the points in the file.
pub(super) fn of_points(mut points: Points, header: &Header) -> Result<Bounds> {
    let (count, width) = (header.number_of_points(), usize::from(header.point_format().len()));
    let mut ends = [[i32::MAX, i32::MIN]; 3];
    let mut records = Vec::new();
    let mut read = 0;
    while read < count {
        let wanted = POINTS.min(count - read);
        records.resize(usize::try_from(wanted)?.saturating_mul(width), 0);
        let what = || format!("cannot read the points from number {read} on; the file is damaged");
        points.read(&mut records).with_context(what)?;
        for record in records.chunks_exact(width.max(1)) {
            for (axis, [lo, hi]) in ends.iter_mut().enumerate() {
                let value = stored(record, axis)?;
                (*lo, *hi) = ((*lo).min(value), (*hi).max(value));
            }
        }
        read += wanted;
    }
    let mut bounds = [[0.0; 2]; 3];
    for ((to, ends), t) in bounds.iter_mut().zip(ends).zip(transforms(header)) {
        *to = ends.map(|end| f64::from(end) * t.scale + t.offset);
    }
    Ok(bounds)
}

/// The domain of each axis, as PDAL sets it: the box in the header, and one unit around it. If that box does not hold
/// all points, it is widened, and the user is told.
pub(super) fn domain(header: &Header, points: Bounds, notes: &mut Vec<String>) -> Result<Bounds> {
    let (min, max) = (header.bounds().min, header.bounds().max);
    let stated = [[min.x, max.x], [min.y, max.y], [min.z, max.z]];
    let mut domain = [[0.0; 2]; 3];
    let mut wrong = Vec::new();
    for (((axis, [lo, hi]), [first, last]), to) in AXES.iter().zip(stated).zip(points).zip(&mut domain) {
        let sound = lo.is_finite() && hi.is_finite() && lo <= hi;
        let around = if sound {
            [lo - 1.0, hi + 1.0]
        } else {
            [first - 1.0, last + 1.0]
        };
        *to = [around[0].min(first - 1.0), around[1].max(last + 1.0)];
        if !sound || to[0] < lo - 1.5 || to[1] > hi + 1.5 {
            wrong.push(*axis);
        }
        ensure!(
            to.iter().all(|end| end.is_finite()),
            "the points are {first} to {last} along {axis}; the scale or the offset in the header is damaged"
        );
    }
    if !wrong.is_empty() {
        notes.push(format!(
            "the box in the header does not hold all points along {}; the domain does",
            wrong.join(", ")
        ));
    }
    Ok(domain)
}
