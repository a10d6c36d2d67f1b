//! Fields that a file adds to the records of its format: its extra bytes, and the record that describes them.

use anyhow::Result;
use hyperslab::{Datatype, Scalar};
use las::{Header, Vlr};

use super::AXES;
use super::record::{Field, Part};

/// Bytes of the description of a field.
const DESCRIPTION_BYTES: usize = 192;
/// The owner and the number of the record with the descriptions.
const OWNER: &str = "LASF_Spec";
const NUMBER: u16 = 4;

/// The datatypes by their codes, from 1.
const DATATYPES: [Datatype; 10] = [
    Datatype::Uint8,
    Datatype::Int8,
    Datatype::Uint16,
    Datatype::Int16,
    Datatype::Uint32,
    Datatype::Int32,
    Datatype::Uint64,
    Datatype::Int64,
    Datatype::Float32,
    Datatype::Float64,
];

/// Adds the fields that the file describes. Adds a note for those that it does not describe.
pub(super) fn add(header: &Header, list: &mut Vec<Field>, notes: &mut Vec<String>) -> Result<()> {
    let format = header.point_format();
    let extra = usize::from(format.extra_bytes);
    let start = usize::from(format.len()).saturating_sub(extra);
    let described = |v: &&Vlr| v.user_id == OWNER && v.record_id == NUMBER;
    let data = header.all_vlrs().find(described).map_or(&[][..], |v| v.data.as_slice());
    let mut used = 0;
    for description in data.as_chunks::<DESCRIPTION_BYTES>().0 {
        let Some(described) = Described::read(description) else {
            break;
        };
        if used + described.bytes > extra {
            break;
        }
        described.add(start + used, list, notes);
        used += described.bytes;
    }
    if used < extra {
        notes.push(format!(
            "{} extra bytes of each point do not carry over: the file does not say what they are",
            extra - used
        ));
    }
    Ok(())
}

/// A field as the file describes it.
struct Described {
    name: String,
    bytes: usize,
    /// The type of its values, and how many there are; `None` if that is unknown.
    values: Option<(Datatype, usize)>,
    scaling: Option<[f64; 2]>,
}

impl Described {
    fn read(description: &[u8; DESCRIPTION_BYTES]) -> Option<Self> {
        let [_, _, kind, options, rest @ ..] = description;
        let (name, _) = rest.split_at(32);
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        let name = name.get(..end).unwrap_or_default();
        let name = name.iter().map(|byte| char::from(*byte)).collect();
        let number = |at: usize| {
            let bytes = description.get(at..).and_then(|b| b.first_chunk::<8>());
            bytes.map_or(0.0, |b| f64::from_le_bytes(*b))
        };
        let (scale, offset) = (options & 8 != 0, options & 16 != 0);
        let scaling = [
            if scale { number(112) } else { 1.0 },
            if offset { number(136) } else { 0.0 },
        ];
        let values = match usize::from(*kind) {
            0 => None,
            kind => {
                let datatype = DATATYPES.get((kind - 1) % 10)?;
                Some((*datatype, (kind - 1) / 10 + 1)).filter(|(_, count)| *count <= 3)
            }
        };
        let bytes = match values {
            Some((datatype, count)) => datatype.size() * count,
            None if *kind == 0 => usize::from(*options),
            None => return None,
        };
        Some(Self {
            name,
            bytes,
            values,
            scaling: (scale || offset).then_some(scaling),
        })
    }

    /// Adds a field for each value.
    fn add(&self, at: usize, list: &mut Vec<Field>, notes: &mut Vec<String>) {
        let Some((datatype, count)) = self.values else {
            notes.push(format!(
                "the extra bytes '{}' do not carry over: they have no type",
                self.name
            ));
            return;
        };
        for number in 0..count {
            let mut name = match (self.name.as_str(), count) {
                ("", _) => "Extra".to_owned(),
                (name, 1) => name.to_owned(),
                (name, _) => format!("{name}{number}"),
            };
            while AXES.contains(&name.as_str()) || list.iter().any(|f| f.name == name) {
                name.push('_');
            }
            let scaled = self.scaling.map(|scaling| Part::Scaled(datatype, scaling));
            list.push(Field {
                name,
                datatype: if scaled.is_some() { Datatype::Float64 } else { datatype },
                at: at + number * datatype.size(),
                part: scaled.unwrap_or(Part::Plain),
            });
        }
    }
}

/// A stored number.
pub(super) fn number(datatype: Datatype, bytes: &[u8]) -> f64 {
    Scalar::from_le_bytes(datatype.physical(), bytes).map_or(f64::NAN, |value| match value.as_i128() {
        Some(integer) => integer as f64,
        None => value.as_f64().unwrap_or(f64::NAN),
    })
}

/// The code of a type; `None` if LAS has none for it.
pub(super) fn code(datatype: Datatype) -> Option<u8> {
    let same = |d: &Datatype| d.physical() == datatype.physical();
    let plain = datatype.is_integer() || datatype.is_float() || datatype == Datatype::Bool;
    let found = DATATYPES.iter().position(same).filter(|_| plain)?;
    u8::try_from(found + 1).ok()
}

/// The record that describes these fields.
pub(super) fn record(fields: &[(String, Datatype)]) -> Option<Vlr> {
    let mut data = Vec::new();
    for (name, datatype) in fields {
        let mut description = [0; DESCRIPTION_BYTES];
        let [_, _, kind, _, rest @ ..] = &mut description;
        *kind = code(*datatype)?;
        rest.iter_mut()
            .zip(name.bytes().take(32))
            .for_each(|(to, from)| *to = from);
        data.extend_from_slice(&description);
    }
    (!data.is_empty()).then(|| Vlr {
        user_id: OWNER.to_owned(),
        record_id: NUMBER,
        description: String::new(),
        data,
    })
}
