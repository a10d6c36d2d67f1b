//! Reading dense arrays. Pure: plans say what to fetch, bytes go in, cells come out.

pub(crate) mod canvas;
pub(crate) mod fill;
mod paint;
pub(crate) mod pieces;
pub(crate) mod plan;
