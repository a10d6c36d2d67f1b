//! Parses numpy's type codes.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::Datatype;

use super::literal::Literal;

/// One field of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// Empty for plain arrays.
    pub(super) name: String,
    /// `None` for padding.
    pub(super) datatype: Option<Datatype>,
    /// Values in a cell.
    pub(super) count: u32,
    /// Bytes of a cell.
    pub(super) bytes: usize,
    /// Bytes of the unit that is swapped if the order is big-endian.
    pub(super) unit: usize,
    pub(super) swapped: bool,
    /// Unicode text, four bytes per character.
    pub(super) text: bool,
}

/// The fields of a `descr`: an unnamed field, or the fields of a record.
pub(super) fn fields(descr: &Literal) -> Result<Vec<Field>> {
    match descr {
        Literal::Text(code) => Ok(vec![field("", code, &[], false)?]),
        Literal::List(items) => items.iter().map(record_field).collect(),
        _ => bail!("the .npy header's 'descr' is neither a type nor a list of fields"),
    }
}

fn record_field(item: &Literal) -> Result<Field> {
    let Literal::List(parts) = item else {
        bail!("a field in the .npy header is not a tuple")
    };
    let name = match parts.first() {
        Some(Literal::Text(name)) => name.as_str(),
        // A title and a name.
        Some(Literal::List(both)) => match both.get(1) {
            Some(Literal::Text(name)) => name.as_str(),
            _ => bail!("a field in the .npy header has no name"),
        },
        _ => bail!("a field in the .npy header has no name"),
    };
    let Some(Literal::Text(code)) = parts.get(1) else {
        bail!("field '{name}' holds records; flatten them first")
    };
    let shape = match parts.get(2) {
        None => Vec::new(),
        Some(shape) => shape
            .integers()
            .with_context(|| format!("field '{name}' has a shape that is not a tuple"))?,
    };
    field(name, code, &shape, true)
}

fn field(name: &str, code: &str, shape: &[u64], record: bool) -> Result<Field> {
    let unknown = || format!("numpy type '{code}' has no TileDB counterpart; convert it with .astype()");
    let mut chars = code.chars();
    let order = chars.next().with_context(unknown)?;
    let kind = chars.next().with_context(unknown)?;
    let rest = chars.as_str();
    let (size, unit) = rest
        .split_once('[')
        .map_or((rest, ""), |(size, unit)| (size, unit.trim_end_matches(']')));
    let size: usize = size.parse().ok().with_context(unknown)?;
    let too_many = || format!("the cells of field '{name}' have no values, or too many");
    let times = shape
        .iter()
        .try_fold(1_u64, |n, m| n.checked_mul(*m))
        .with_context(too_many)?;
    let (datatype, width, values) = match (kind, size) {
        ('b', 1) => (Datatype::Bool, 1, 1),
        ('i', 1) => (Datatype::Int8, 1, 1),
        ('i', 2) => (Datatype::Int16, 2, 1),
        ('i', 4) => (Datatype::Int32, 4, 1),
        ('i', 8) => (Datatype::Int64, 8, 1),
        ('u', 1) => (Datatype::Uint8, 1, 1),
        ('u', 2) => (Datatype::Uint16, 2, 1),
        ('u', 4) => (Datatype::Uint32, 4, 1),
        ('u', 8) => (Datatype::Uint64, 8, 1),
        ('f', 4) => (Datatype::Float32, 4, 1),
        ('f', 8) => (Datatype::Float64, 8, 1),
        ('c', 8) => (Datatype::Float32, 4, 2),
        ('c', 16) => (Datatype::Float64, 8, 2),
        ('M', 8) => (time(unit, true).with_context(unknown)?, 8, 1),
        ('m', 8) => (time(unit, false).with_context(unknown)?, 8, 1),
        ('S' | 'a', n @ 1..) => (Datatype::Char, 1, n),
        ('V', n @ 1..) => (Datatype::Blob, 1, n),
        ('U', n @ 1..) => (Datatype::StringUtf8, 4, n),
        _ => bail!(unknown()),
    };
    let values = (values as u64)
        .checked_mul(times)
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n > 0);
    let count = values.with_context(too_many)?;
    let text = kind == 'U';
    ensure!(
        !text || times == 1,
        "field '{name}' holds several strings per cell; split it"
    );
    let padding = kind == 'V' && record && name.is_empty();
    Ok(Field {
        name: name.to_owned(),
        datatype: (!padding).then_some(datatype),
        count,
        bytes: count as usize * width,
        unit: width,
        swapped: order == '>' && width > 1,
        text,
    })
}

/// The datatype of a unit of `datetime64` or `timedelta64`.
fn time(unit: &str, date: bool) -> Option<Datatype> {
    Some(match (unit, date) {
        ("Y", true) => Datatype::DatetimeYear,
        ("M", true) => Datatype::DatetimeMonth,
        ("W", true) => Datatype::DatetimeWeek,
        ("D", true) => Datatype::DatetimeDay,
        ("h", true) => Datatype::DatetimeHr,
        ("m", true) => Datatype::DatetimeMin,
        ("s", true) => Datatype::DatetimeSec,
        ("ms", true) => Datatype::DatetimeMs,
        ("us", true) => Datatype::DatetimeUs,
        ("ns", true) => Datatype::DatetimeNs,
        ("ps", true) => Datatype::DatetimePs,
        ("fs", true) => Datatype::DatetimeFs,
        ("as", true) => Datatype::DatetimeAs,
        ("h", false) => Datatype::TimeHr,
        ("m", false) => Datatype::TimeMin,
        ("s", false) => Datatype::TimeSec,
        ("ms", false) => Datatype::TimeMs,
        ("us", false) => Datatype::TimeUs,
        ("ns", false) => Datatype::TimeNs,
        ("ps", false) => Datatype::TimePs,
        ("fs", false) => Datatype::TimeFs,
        ("as", false) => Datatype::TimeAs,
        _ => return None,
    })
}
