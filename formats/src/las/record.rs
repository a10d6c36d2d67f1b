//! The fields of point records.

use anyhow::{Context as _, Result};
use hyperslab::{CellCount, Column, Datatype};
use las::Header;
use las::point::Format;

use super::extra;

/// How a field's bytes become a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// The bytes as they are.
    Plain,
    /// Returns and flags of old formats.
    OldBits,
    /// Returns and flags.
    Bits,
    /// Whole degrees.
    OldAngle,
    /// Steps of 0.006 degrees.
    Angle,
    /// The lower five bits.
    OldClass,
    /// A number of this type, times a scale, plus an offset.
    Scaled(Datatype, [f64; 2]),
}

/// A field of a record that becomes an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) datatype: Datatype,
    pub(super) at: usize,
    pub(super) part: Part,
}

/// The step of scan angles, in degrees.
pub(super) const ANGLE_STEP: f32 = 0.006;

/// The fields of a point format that have a place in every record, without coordinates and extra bytes.
pub(super) fn standard(format: &Format) -> Vec<Field> {
    let field = |name: &str, datatype, at, part| Field {
        name: name.to_owned(),
        datatype,
        at,
        part,
    };
    let (u8, u16, f32) = (Datatype::Uint8, Datatype::Uint16, Datatype::Float32);
    let mut list = vec![field("Intensity", u16, 12, Part::Plain)];
    let mut at = if format.is_extended {
        list.extend([
            field("BitFields", u16, 14, Part::Bits),
            field("Classification", u8, 16, Part::Plain),
            field("ScanAngleRank", f32, 18, Part::Angle),
            field("UserData", u8, 17, Part::Plain),
            field("PointSourceId", u16, 20, Part::Plain),
        ]);
        22
    } else {
        list.extend([
            field("BitFields", u16, 14, Part::OldBits),
            field("Classification", u8, 15, Part::OldClass),
            field("ScanAngleRank", f32, 16, Part::OldAngle),
            field("UserData", u8, 17, Part::Plain),
            field("PointSourceId", u16, 18, Part::Plain),
        ]);
        20
    };
    if format.has_gps_time {
        list.push(field("GpsTime", Datatype::Float64, at, Part::Plain));
        at += 8;
    }
    if format.has_color {
        for (number, name) in ["Red", "Green", "Blue"].into_iter().enumerate() {
            list.push(field(name, u16, at + 2 * number, Part::Plain));
        }
        at += 6;
    }
    if format.has_nir {
        list.push(field("Infrared", u16, at, Part::Plain));
    }
    list
}

/// All fields of the file's records. Adds a note for what is left out.
pub(super) fn fields(header: &Header, notes: &mut Vec<String>) -> Result<Vec<Field>> {
    let format = header.point_format();
    let mut list = standard(format);
    if format.has_waveform {
        notes.push("the waveforms do not carry over".to_owned());
    }
    extra::add(header, &mut list, notes)?;
    Ok(list)
}

impl Field {
    /// The values of all records of `width` bytes.
    pub(super) fn column(&self, records: &[u8], width: usize) -> Result<Column> {
        let bytes = match self.part {
            Part::Scaled(stored, _) => stored.size(),
            Part::Plain => self.datatype.size(),
            Part::OldBits | Part::Bits | Part::Angle => 2,
            Part::OldAngle | Part::OldClass => 1,
        };
        let mut data = Vec::with_capacity(records.len() / width.max(1) * self.datatype.size());
        for record in records.chunks_exact(width.max(1)) {
            let stored = record.get(self.at..self.at + bytes);
            self.value(stored.context("a point record is too short")?, &mut data);
        }
        Ok(numbers(self.datatype, data))
    }

    fn value(&self, stored: &[u8], out: &mut Vec<u8>) {
        match (self.part, stored) {
            (Part::Bits, &[returns, flags]) => out.extend_from_slice(&[flags, returns]),
            (Part::OldBits, &[returns, class]) => {
                let numbers = returns & 7 | (returns >> 3 & 7) << 4;
                out.extend_from_slice(&[class >> 5 | returns & 0xc0, numbers]);
            }
            (Part::OldClass, &[class]) => out.push(class & 31),
            (Part::OldAngle, &[angle]) => {
                out.extend_from_slice(&f32::from(i8::from_le_bytes([angle])).to_le_bytes());
            }
            (Part::Angle, &[a, b]) => {
                let angle = f32::from(i16::from_le_bytes([a, b])) * ANGLE_STEP;
                out.extend_from_slice(&angle.to_le_bytes());
            }
            (Part::Scaled(stored_as, [scale, offset]), bytes) => {
                let value = extra::number(stored_as, bytes) * scale + offset;
                out.extend_from_slice(&value.to_le_bytes());
            }
            _ => out.extend_from_slice(stored),
        }
    }
}

/// A column of little-endian numbers.
pub(super) fn numbers(datatype: Datatype, data: Vec<u8>) -> Column {
    Column {
        datatype,
        cell: CellCount::ONE,
        data,
        offsets: None,
        validity: None,
    }
}
