//! Reads numpy's `.npy` files: a header with a Python dictionary, then the values.

mod dtype;
mod literal;

use std::io::Read;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::schema::Layout;
use hyperslab::{CellCount, Column, Datatype};

use super::bounds::check_columns;
use super::{Named, Shape, Table, Values};
use dtype::Field;
use literal::Literal;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
const HEADER_BYTES_MAX: u64 = 1 << 24;
/// The suffix of validity fields. numpy has no nulls, so a bool field `a_valid` follows a nullable field `a`, with more
/// underscores if another field has that name.
const VALIDITY: &str = "_valid";

/// Reads an array.
pub(crate) fn read(input: Box<dyn Read + '_>) -> Result<Table> {
    let mut any = u64::MAX;
    read_within(input, &mut any)
}

/// Reads an array of at most `left` bytes, and subtracts its size from `left`.
pub(super) fn read_within(mut input: Box<dyn Read + '_>, left: &mut u64) -> Result<Table> {
    let head = Head::read(&mut input, left)?;
    let columns = head.columns(input.as_mut(), head.cells)?;
    Ok(head.table(columns))
}

/// The header of an array.
#[derive(Debug)]
pub(crate) struct Head {
    fields: Vec<Field>,
    pub(crate) shape: Shape,
    /// The number of cells.
    pub(crate) cells: u64,
    /// Bytes of a cell in the file.
    pub(crate) width: u64,
}

impl Head {
    /// Reads the header of an array of at most `left` bytes, and subtracts the size of the array from `left`.
    pub(crate) fn read(input: &mut dyn Read, left: &mut u64) -> Result<Self> {
        let header = header(input)?;
        take(left, header.len() as u64)?;
        let parsed = literal::parse(&header).context("cannot parse the .npy header")?;
        let part = |key| {
            parsed
                .get(key)
                .with_context(|| format!("the .npy header has no '{key}'"))
        };
        let fields = dtype::fields(part("descr")?)?;
        check_columns(fields.len())?;
        let Some(lengths) = part("shape")?.integers() else {
            bail!("the shape in the .npy header is not a tuple of integers")
        };
        let layout = if part("fortran_order")? == &Literal::Bool(true) {
            Layout::ColMajor
        } else {
            Layout::RowMajor
        };
        let width: u64 = fields.iter().map(|f| f.bytes as u64).sum();
        let cells = lengths.iter().try_fold(1_u64, |n, m| n.checked_mul(*m));
        let size = cells.and_then(|n| n.checked_mul(width));
        let (cells, size) = cells.zip(size).context("the shape in the .npy header is too large")?;
        take(left, size)?;
        Ok(Self {
            fields,
            shape: Shape { lengths, layout },
            cells,
            width,
        })
    }

    /// Reads the next `cells` cells as columns.
    pub(crate) fn columns(&self, input: &mut dyn Read, cells: u64) -> Result<Vec<Named>> {
        let size = cells.saturating_mul(self.width);
        let mut data = Vec::new();
        // The buffer grows with the bytes that are there, whatever the header says.
        input.take(size).read_to_end(&mut data)?;
        ensure!(
            data.len() as u64 == size,
            "the .npy file ends after {} of {size} bytes of values",
            data.len()
        );
        if let [field] = self.fields.as_slice() {
            return Ok(vec![Named {
                name: field.name.clone(),
                values: Values::Plain(field.column(data)),
            }]);
        }
        Ok(split(&self.fields, &data, usize::try_from(self.width)?))
    }

    pub(crate) fn table(self, columns: Vec<Named>) -> Table {
        Table {
            columns,
            shape: Some(self.shape),
            ..Table::default()
        }
    }
}

fn take(left: &mut u64, bytes: u64) -> Result<()> {
    let after = left.checked_sub(bytes);
    *left = after.with_context(|| {
        format!(
            "it decompresses to far more bytes than the file has: {bytes} more bytes, but only {left} are allowed; \
             import its arrays one by one from .npy"
        )
    })?;
    Ok(())
}

/// The size of the header and what precedes it, if `start` contains so much; `None` if more bytes are needed.
///
/// # Errors
/// This is not an `.npy` file.
pub(crate) fn header_bytes(start: &[u8]) -> Result<Option<usize>> {
    let magic = start.get(..MAGIC.len()).unwrap_or(start);
    ensure!(
        MAGIC.starts_with(magic),
        "this is not an .npy file: it does not start with \\x93NUMPY"
    );
    let (before, length) = match *start {
        [_, _, _, _, _, _, 1, _, a, b, ..] => (10, u32::from(u16::from_le_bytes([a, b]))),
        [_, _, _, _, _, _, 2..=u8::MAX, _, a, b, c, d, ..] => (12, u32::from_le_bytes([a, b, c, d])),
        _ => return Ok(None),
    };
    ensure!(
        u64::from(length) <= HEADER_BYTES_MAX,
        "the .npy header of {length} bytes is too long"
    );
    let all = before + usize::try_from(length)?;
    Ok((start.len() >= all).then_some(all))
}

fn header(input: &mut dyn Read) -> Result<String> {
    let mut start = [0; 8];
    input
        .read_exact(&mut start)
        .context("this is not an .npy file: it is too short")?;
    ensure!(
        start.starts_with(MAGIC),
        "this is not an .npy file: it does not start with \\x93NUMPY"
    );
    let length = match start.get(6) {
        Some(1) => {
            let mut n = [0; 2];
            input.read_exact(&mut n)?;
            u64::from(u16::from_le_bytes(n))
        }
        _ => {
            let mut n = [0; 4];
            input.read_exact(&mut n)?;
            u64::from(u32::from_le_bytes(n))
        }
    };
    ensure!(
        length <= HEADER_BYTES_MAX,
        "the .npy header of {length} bytes is too long"
    );
    let mut header = Vec::new();
    input.take(length).read_to_end(&mut header)?;
    ensure!(header.len() as u64 == length, "the .npy file ends within its header");
    Ok(String::from_utf8(header).unwrap_or_else(|e| e.into_bytes().iter().map(|b| char::from(*b)).collect()))
}

/// The columns of a structured array.
fn split(fields: &[Field], data: &[u8], width: usize) -> Vec<Named> {
    let mut columns: Vec<Named> = Vec::new();
    let mut at = 0;
    for field in fields {
        let mut values = Vec::with_capacity(data.len() / width.max(1) * field.bytes);
        for record in data.chunks_exact(width.max(1)) {
            values.extend_from_slice(record.get(at..at + field.bytes).unwrap_or(&[]));
        }
        at += field.bytes;
        if let Some(Named {
            name,
            values: Values::Plain(before),
        }) = columns.last_mut()
            && field.datatype == Some(Datatype::Bool)
            && field.name.trim_end_matches('_').strip_suffix(VALIDITY) == Some(name)
        {
            before.validity = Some(values);
            continue;
        }
        // Padding between fields has no name and no type.
        if field.datatype.is_some() {
            columns.push(Named {
                name: field.name.clone(),
                values: Values::Plain(field.column(values)),
            });
        }
    }
    columns
}

impl Field {
    /// The values as a column: little-endian, strings of UTF-32 as UTF-8.
    fn column(&self, mut data: Vec<u8>) -> Column {
        if self.swapped {
            data.chunks_exact_mut(self.unit.max(1)).for_each(<[u8]>::reverse);
        }
        let datatype = self.datatype.unwrap_or(Datatype::Blob);
        if self.text {
            let cells = data.chunks_exact(self.bytes.max(1)).map(|c| {
                let points = c
                    .chunks_exact(4)
                    .filter_map(|p| Some(u32::from_le_bytes(p.try_into().ok()?)));
                let text: String = points
                    .map(|p| char::from_u32(p).unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect();
                text.trim_end_matches('\0').to_owned()
            });
            return Column::from_cells(Datatype::StringUtf8, cells);
        }
        Column {
            datatype,
            cell: CellCount::Fixed(self.count),
            data,
            offsets: None,
            validity: None,
        }
    }
}
