//! Classic NetCDF files: a header, then the values of each variable, big-endian and padded to four bytes.
//!
//! The file is of version 2 (64-bit offsets), or of version 5 (CDF-5) if it has 64-bit or unsigned integers or a variable
//! of 4 GiB. No library does this well: `netcdf3` lacks version 5 and takes a variable as a whole, and `hdf5-pure`, for
//! version 4, can neither stream values nor write the references from variables to their dimensions.

use anyhow::{Context as _, Result, ensure};
use hyperslab::Datatype;
use hyperslab::metadata::MetaValue;

/// The tags of the lists in the header.
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;
/// The tag of an empty list.
const ABSENT: u32 = 0;
/// Values and names end at a multiple of this many bytes.
const ALIGNMENT: u64 = 4;
/// Variables of this size do not fit version 2.
const LARGE_BYTES: u64 = u32::MAX as u64 - 3;

/// The dimensions, attributes and variables of a file.
#[derive(Debug, Clone, Default)]
pub struct NetcdfFile {
    /// Names and lengths of the dimensions. None of them can grow.
    pub dimensions: Vec<(String, u64)>,
    /// The attributes of the file. Those that [`NetcdfFile::holds`] refuses are left out.
    pub attributes: Vec<(String, MetaValue)>,
    /// The variables, in the order of their values.
    pub variables: Vec<NetcdfVariable>,
}

/// A variable of a file.
#[derive(Debug, Clone)]
pub struct NetcdfVariable {
    /// Its name.
    pub name: String,
    /// Its dimensions, as indices of [`NetcdfFile::dimensions`], slowest first.
    pub dimensions: Vec<usize>,
    /// The type of its values. Text is a byte for each value.
    pub datatype: Datatype,
    /// Its attributes, without those that [`NetcdfFile::holds`] refuses.
    pub attributes: Vec<(String, MetaValue)>,
}

impl NetcdfFile {
    /// Whether a file can hold values of this type. Bools become bytes.
    pub const fn holds(datatype: Datatype) -> bool {
        type_of(datatype).is_some()
    }

    /// Everything before the values of the first variable.
    ///
    /// # Errors
    /// A name is empty, or a type cannot be stored.
    pub fn header(&self) -> Result<Vec<u8>> {
        let version = self.version();
        let mut starts = vec![0; self.variables.len()];
        let mut at = self.encode(version, &starts)?.len() as u64;
        for (start, variable) in starts.iter_mut().zip(&self.variables) {
            *start = at;
            at = at.saturating_add(self.bytes(variable).next_multiple_of(ALIGNMENT));
        }
        self.encode(version, &starts)
    }

    /// The bytes of a variable's values, without padding.
    pub fn bytes(&self, variable: &NetcdfVariable) -> u64 {
        let lengths = variable.dimensions.iter().filter_map(|d| self.dimensions.get(*d));
        let values = lengths.fold(1, |n: u64, (_, length)| n.saturating_mul(*length));
        values.saturating_mul(variable.datatype.size() as u64)
    }

    /// The zeros that follow this many bytes of values.
    pub fn padding(bytes: u64) -> Vec<u8> {
        vec![0; (bytes.next_multiple_of(ALIGNMENT) - bytes) as usize]
    }

    /// Turns little-endian values of this type into those of a file.
    pub fn values(datatype: Datatype, mut bytes: Vec<u8>) -> Vec<u8> {
        match datatype.size() {
            2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|v| v.reverse()),
            4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|v| v.reverse()),
            8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|v| v.reverse()),
            _ => {}
        }
        bytes
    }

    fn version(&self) -> u8 {
        let new = |datatype: Datatype| type_of(datatype).is_some_and(|t| t > 6);
        let of = |attributes: &[(String, MetaValue)]| attributes.iter().any(|(_, v)| new(v.datatype));
        let large = |v: &NetcdfVariable| new(v.datatype) || of(&v.attributes) || self.bytes(v) >= LARGE_BYTES;
        let long = self.dimensions.iter().any(|(_, length)| *length > i32::MAX as u64);
        match long || of(&self.attributes) || self.variables.iter().any(large) {
            true => 5,
            false => 2,
        }
    }

    fn encode(&self, version: u8, starts: &[u64]) -> Result<Vec<u8>> {
        let mut out = Header {
            bytes: vec![b'C', b'D', b'F', version],
            wide: version == 5,
        };
        // No dimension can grow, so there are no records.
        out.count(0);
        out.list(DIMENSIONS, self.dimensions.len());
        for (name, length) in &self.dimensions {
            out.name(name)?;
            out.count(*length);
        }
        out.attributes(&self.attributes)?;
        out.list(VARIABLES, self.variables.len());
        for (variable, start) in self.variables.iter().zip(starts) {
            out.name(&variable.name)?;
            out.count(variable.dimensions.len() as u64);
            variable.dimensions.iter().for_each(|d| out.count(*d as u64));
            out.attributes(&variable.attributes)?;
            let name = &variable.name;
            let code = type_of(variable.datatype).with_context(|| format!("'{name}' has {}", variable.datatype))?;
            out.word(code);
            out.count(self.bytes(variable).next_multiple_of(ALIGNMENT));
            out.bytes.extend_from_slice(&start.to_be_bytes());
        }
        Ok(out.bytes)
    }
}

/// A header being written.
struct Header {
    bytes: Vec<u8>,
    /// Whether counts have 8 bytes.
    wide: bool,
}

impl Header {
    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_be_bytes());
    }

    /// A count. Version 2 never has larger ones.
    fn count(&mut self, count: u64) {
        match self.wide {
            true => self.bytes.extend_from_slice(&count.to_be_bytes()),
            false => self.word(u32::try_from(count).unwrap_or(u32::MAX)),
        }
    }

    fn list(&mut self, tag: u32, count: usize) {
        self.word(if count == 0 { ABSENT } else { tag });
        self.count(count as u64);
    }

    fn name(&mut self, name: &str) -> Result<()> {
        ensure!(
            !name.is_empty() && !name.contains('/'),
            "'{name}' cannot be a name in a NetCDF file"
        );
        self.count(name.len() as u64);
        self.padded(name.as_bytes());
        Ok(())
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend(NetcdfFile::padding(bytes.len() as u64));
    }

    fn attributes(&mut self, all: &[(String, MetaValue)]) -> Result<()> {
        let held: Vec<_> = all
            .iter()
            .filter_map(|(name, v)| Some((name, type_of(v.datatype)?, v)))
            .collect();
        self.list(ATTRIBUTES, held.len());
        for (name, code, value) in held {
            self.name(name)?;
            self.word(code);
            self.count((value.data.len() / value.datatype.size().max(1)) as u64);
            self.padded(&NetcdfFile::values(value.datatype, value.data.clone()));
        }
        Ok(())
    }
}

/// The code of a type.
const fn type_of(datatype: Datatype) -> Option<u32> {
    Some(match datatype {
        Datatype::Int8 | Datatype::Bool => 1,
        Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8 => 2,
        Datatype::Int16 => 3,
        Datatype::Int32 => 4,
        Datatype::Float32 => 5,
        Datatype::Float64 => 6,
        Datatype::Uint8 => 7,
        Datatype::Uint16 => 8,
        Datatype::Uint32 => 9,
        Datatype::Uint64 => 11,
        Datatype::Int64 => 10,
        datatype if datatype.is_temporal() => 10,
        _ => return None,
    })
}
