//! NetCDF. Files of version 4 are HDF5 files; the classic ones are read here.

mod latin1;
mod write;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};
use hyperslab::metadata::MetaValue;
use hyperslab::{Column, Datatype};
use netcdf_reader::classic::data::NcReadType;
use netcdf_reader::{Error, NcAttrValue, NcFile, NcSliceInfo, NcSliceInfoElem, NcType, NcVariable};
use tempfile::NamedTempFile;

use self::latin1::Marks;
use crate::cf::{self, Axis, Dataset, Field, Group, ReadBox, Variable};
use crate::{Options, Source, hdf5, text};

pub use write::{NetcdfFile, NetcdfVariable};

/// The first bytes of a classic file.
const CLASSIC: &[u8] = b"CDF";

/// Opens a NetCDF file of any version.
pub(crate) fn open(path: &Path, options: &Options) -> Result<Box<dyn Source>> {
    if !is_classic(path)? {
        return hdf5::open(path, options);
    }
    let (copy, marks) = latin1::readable_copy(path)?.unzip();
    let file = NcFile::open(copy.as_ref().map_or(path, |copy| copy.path()));
    let file = file.context("this is not a NetCDF file, or it is damaged")?;
    let (dataset, mut classic) = describe(file, &marks.unwrap_or_default())?;
    classic.copy = copy;
    cf::source(dataset, Box::new(classic), options)
}

/// Whether a file is a NetCDF file of version 3 or less.
pub(crate) fn is_classic(path: &Path) -> Result<bool> {
    use std::io::Read as _;
    let mut head = Vec::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    file.take(CLASSIC.len() as u64).read_to_end(&mut head)?;
    Ok(head == CLASSIC)
}

/// A classic file.
struct Classic {
    file: NcFile,
    variables: Vec<Object>,
    /// The copy that is read in place of the file.
    copy: Option<NamedTempFile>,
}

/// A variable to read.
struct Object {
    variable: NcVariable,
    /// The length of the text that the last axis holds.
    text: Option<u64>,
}

fn describe(file: NcFile, marks: &Marks) -> Result<(Dataset, Classic)> {
    let all = file.variables()?;
    let text_axes = cf::text_axes(all.iter().map(|v| {
        let axes = v.dimensions().iter().map(|d| d.name.as_str());
        (v.name(), axes.collect(), *v.dtype() == NcType::Char)
    }));
    let object = |v: &NcVariable| Object {
        text: v
            .dimensions()
            .last()
            .filter(|d| text_axes.contains(&d.name))
            .map(|d| d.size),
        variable: v.clone(),
    };
    let objects: Vec<Object> = all.iter().map(object).collect();
    let dataset = Dataset {
        groups: vec![Group {
            path: String::new(),
            attributes: attributes(file.global_attributes()?, marks),
        }],
        variables: objects.iter().map(|object| variable(object, marks)).collect(),
        notes: Vec::new(),
    };
    let classic = Classic {
        variables: objects,
        file,
        copy: None,
    };
    Ok((dataset, classic))
}

fn variable(object: &Object, marks: &Marks) -> Variable {
    let of = &object.variable;
    let axes = of.dimensions().iter().map(|d| Axis {
        name: marks.restored(&d.name),
        length: d.size,
        unlimited: d.is_unlimited,
    });
    let mut axes: Vec<Axis> = axes.collect();
    if object.text.is_some() {
        axes.pop();
    }
    let datatype = datatype(of.dtype());
    Variable {
        group: String::new(),
        name: marks.restored(of.name()),
        axes,
        fields: vec![Field::only(datatype, datatype.default_cell())],
        chunk: None,
        attributes: attributes(of.attributes(), marks),
    }
}

/// The type of the cells. Classic files have no other types than these.
fn datatype(of: &NcType) -> Datatype {
    match of {
        NcType::Byte => Datatype::Int8,
        NcType::UByte => Datatype::Uint8,
        NcType::Short => Datatype::Int16,
        NcType::UShort => Datatype::Uint16,
        NcType::Int => Datatype::Int32,
        NcType::UInt => Datatype::Uint32,
        NcType::Int64 => Datatype::Int64,
        NcType::UInt64 => Datatype::Uint64,
        NcType::Float => Datatype::Float32,
        NcType::Double => Datatype::Float64,
        _ => Datatype::StringUtf8,
    }
}

fn attributes(of: &[netcdf_reader::NcAttribute], marks: &Marks) -> Vec<(String, MetaValue)> {
    let attribute = |a: &netcdf_reader::NcAttribute| (marks.restored(&a.name), marks.restored_value(value(&a.value)));
    of.iter().map(attribute).collect()
}

fn value(of: &NcAttrValue) -> MetaValue {
    macro_rules! numbers {
        ($datatype:ident, $values:expr) => {{
            let bytes: Vec<u8> = $values.iter().flat_map(|v| v.to_le_bytes()).collect();
            MetaValue::bytes(Datatype::$datatype, &bytes)
        }};
    }
    match of {
        NcAttrValue::Bytes(v) => numbers!(Int8, v),
        NcAttrValue::UBytes(v) => numbers!(Uint8, v),
        NcAttrValue::Shorts(v) => numbers!(Int16, v),
        NcAttrValue::UShorts(v) => numbers!(Uint16, v),
        NcAttrValue::Ints(v) => numbers!(Int32, v),
        NcAttrValue::UInts(v) => numbers!(Uint32, v),
        NcAttrValue::Int64s(v) => numbers!(Int64, v),
        NcAttrValue::UInt64s(v) => numbers!(Uint64, v),
        NcAttrValue::Floats(v) => numbers!(Float32, v),
        NcAttrValue::Doubles(v) => numbers!(Float64, v),
        NcAttrValue::Chars(text) => MetaValue::text(text),
        NcAttrValue::Strings(texts) => MetaValue::text(&texts.join("\n")),
        // Classic files have none.
        NcAttrValue::UserDefined { .. } => MetaValue::text(""),
    }
}

/// A byte of text.
#[derive(Clone, Default)]
struct Char(u8);

impl NcReadType for Char {
    fn nc_type() -> NcType {
        NcType::Char
    }

    fn from_be_bytes(bytes: &[u8]) -> netcdf_reader::Result<Self> {
        let none = || Error::InvalidData("a character is missing".to_owned());
        bytes.first().map(|byte| Self(*byte)).ok_or_else(none)
    }

    fn element_size() -> usize {
        1
    }
}

impl ReadBox for Classic {
    fn read(&mut self, variable: usize, ranges: &[Range<u64>]) -> Result<Vec<Column>> {
        let object = self.variables.get(variable).context("there is no such variable")?;
        let of = &object.variable;
        let mut slices: Vec<NcSliceInfoElem> = ranges.iter().map(slice).collect();
        slices.extend(object.text.map(|width| slice(&(0..width))));
        let selection = NcSliceInfo { selections: slices };
        macro_rules! numbers {
            ($datatype:ident, $t:ty) => {{
                let array = self.file.read_variable_slice::<$t>(of.name(), &selection)?;
                let (values, _) = array.into_raw_vec_and_offset();
                Column::from_values(Datatype::$datatype, &values)
            }};
        }
        let column = match of.dtype() {
            NcType::Byte => numbers!(Int8, i8),
            NcType::UByte => numbers!(Uint8, u8),
            NcType::Short => numbers!(Int16, i16),
            NcType::UShort => numbers!(Uint16, u16),
            NcType::Int => numbers!(Int32, i32),
            NcType::UInt => numbers!(Uint32, u32),
            NcType::Int64 => numbers!(Int64, i64),
            NcType::UInt64 => numbers!(Uint64, u64),
            NcType::Float => numbers!(Float32, f32),
            NcType::Double => numbers!(Float64, f64),
            _ => {
                let array = self.file.read_variable_slice::<Char>(of.name(), &selection)?;
                let bytes: Vec<u8> = array.iter().map(|c| c.0).collect();
                text::column(&bytes, object.text.unwrap_or(1), ranges)
            }
        };
        Ok(vec![column])
    }
}

fn slice(range: &Range<u64>) -> NcSliceInfoElem {
    NcSliceInfoElem::Slice {
        start: range.start,
        end: range.end,
        step: 1,
    }
}
