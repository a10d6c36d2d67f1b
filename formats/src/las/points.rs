//! The point records of a file, in order. `las::Reader` cannot move between threads, so its two parts are put together
//! here: the header of `las`, and the codec of `laz`.

use std::fs::File;
use std::io::{BufReader, Read as _};

use anyhow::Result;
use las::Header;
use laz::LasZipDecompressor;

/// The records of a file.
pub(super) enum Points {
    Plain(BufReader<File>),
    Packed(Box<LasZipDecompressor<'static, BufReader<File>>>),
}

impl Points {
    /// The records in `file`, which is at the first of them.
    pub(super) fn new(file: BufReader<File>, header: &Header) -> Result<Self> {
        Ok(match header.point_format().is_compressed {
            false => Self::Plain(file),
            true => Self::Packed(Box::new(LasZipDecompressor::new(file, header.laz_vlr()?)?)),
        })
    }

    /// Reads whole records.
    pub(super) fn read(&mut self, records: &mut [u8]) -> Result<()> {
        match self {
            Self::Plain(file) => file.read_exact(records)?,
            Self::Packed(packed) => packed.decompress_many(records)?,
        }
        Ok(())
    }
}
