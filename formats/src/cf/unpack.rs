//! Packed numbers, and the numbers that they stand for.

use hyperslab::metadata::MetaValue;
use hyperslab::{Column, Datatype, Scalar};

use super::Variable;

/// Attributes that hold packed numbers.
const PACKED: [&str; 5] = ["valid_min", "valid_max", "valid_range", "actual_range", "missing_value"];

/// How to unpack a variable: `packed · scale + offset`, and NaN for missing values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unpack {
    scale: f64,
    offset: f64,
    /// The packed numbers that mean "missing".
    missing: Vec<f64>,
    /// The type that the packed numbers are read as.
    from: Datatype,
    /// The type of the unpacked numbers.
    pub(crate) into: Datatype,
}

impl Unpack {
    /// The packing of a variable; `None` if it is not packed.
    pub(super) fn of(variable: &Variable) -> Option<Self> {
        let [field] = variable.fields.as_slice() else {
            return None;
        };
        let packed = field.datatype.is_integer() || field.datatype.is_float();
        if !packed || field.cell != hyperslab::CellCount::ONE || field.names.is_some() {
            return None;
        }
        let value = |name: &str| variable.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        let (scale, offset) = (value("scale_factor"), value("add_offset"));
        if scale.is_none() && offset.is_none() {
            return None;
        }
        let number = |value: Option<&MetaValue>, usual| value.map_or(Some(usual), |v| numbers(v).first().copied());
        let single = |value: Option<&MetaValue>| value.is_none_or(|v| v.datatype == Datatype::Float32);
        let small = field.datatype.size() <= 2 || field.datatype == Datatype::Float32;
        let unsigned = value("_Unsigned").is_some_and(|v| v.data.eq_ignore_ascii_case(b"true"));
        Some(Self {
            scale: number(scale, 1.0)?,
            offset: number(offset, 0.0)?,
            missing: ["_FillValue", "missing_value"]
                .into_iter()
                .filter_map(value)
                .flat_map(numbers)
                .collect(),
            from: if unsigned {
                unsigned_of(field.datatype)
            } else {
                field.datatype
            },
            into: if single(scale) && single(offset) && small {
                Datatype::Float32
            } else {
                Datatype::Float64
            },
        })
    }

    /// The unpacked numbers.
    pub(super) fn apply(&self, packed: &Column) -> Column {
        let mut data = Vec::new();
        for bytes in packed.data.chunks_exact(self.from.size()) {
            let number = number_of(self.from, bytes);
            // Missing values are compared as they are stored, also those of `_Unsigned` variables.
            let stored = number_of(packed.datatype, bytes);
            let missing = self.missing.contains(&stored) || self.missing.contains(&number);
            let value = if missing {
                f64::NAN
            } else {
                number * self.scale + self.offset
            };
            match self.into {
                Datatype::Float32 => data.extend_from_slice(&(value as f32).to_le_bytes()),
                _ => data.extend_from_slice(&value.to_le_bytes()),
            }
        }
        Column {
            datatype: self.into,
            data,
            ..Column::empty(self.into, packed.cell, false)
        }
    }

    /// The attributes of the unpacked variable.
    pub(super) fn attributes(&self, packed: &[(String, MetaValue)]) -> Vec<(String, MetaValue)> {
        let gone = ["scale_factor", "add_offset", "_Unsigned", "missing_value"];
        let kept = packed.iter().filter(|(name, _)| !gone.contains(&name.as_str()));
        let unpacked = |(name, value): &(String, MetaValue)| {
            if !PACKED.contains(&name.as_str()) || value.datatype.is_float() {
                return (name.clone(), value.clone());
            }
            let column = Column {
                data: value.data.clone(),
                ..Column::empty(value.datatype, hyperslab::CellCount::ONE, false)
            };
            let typed = Self {
                from: if value.datatype.size() == self.from.size() {
                    self.from
                } else {
                    value.datatype
                },
                missing: Vec::new(),
                ..self.clone()
            };
            let column = typed.apply(&column);
            (name.clone(), MetaValue::bytes(column.datatype, &column.data))
        };
        kept.map(unpacked).collect()
    }
}

fn unsigned_of(datatype: Datatype) -> Datatype {
    match datatype {
        Datatype::Int8 => Datatype::Uint8,
        Datatype::Int16 => Datatype::Uint16,
        Datatype::Int32 => Datatype::Uint32,
        Datatype::Int64 => Datatype::Uint64,
        other => other,
    }
}

fn number_of(datatype: Datatype, bytes: &[u8]) -> f64 {
    let scalar = Scalar::from_le_bytes(datatype.physical(), bytes);
    scalar.and_then(|s| s.as_f64()).unwrap_or(f64::NAN)
}

/// The values of an attribute as numbers.
fn numbers(value: &MetaValue) -> Vec<f64> {
    if !value.datatype.is_integer() && !value.datatype.is_float() {
        return Vec::new();
    }
    let values = value.data.chunks_exact(value.datatype.size());
    values.map(|bytes| number_of(value.datatype, bytes)).collect()
}

#[cfg(test)]
mod tests {
    use hyperslab::CellCount;

    use super::super::Field;
    use super::*;

    fn value(datatype: Datatype, bytes: &[u8]) -> MetaValue {
        MetaValue::bytes(datatype, bytes)
    }

    #[test]
    fn packed_numbers_are_unpacked() {
        let variable = Variable {
            name: "t".to_owned(),
            fields: vec![Field::only(Datatype::Int16, CellCount::ONE)],
            attributes: vec![
                (
                    "scale_factor".to_owned(),
                    value(Datatype::Float64, &0.5_f64.to_le_bytes()),
                ),
                ("add_offset".to_owned(), value(Datatype::Float64, &10_f64.to_le_bytes())),
                ("_FillValue".to_owned(), value(Datatype::Int16, &(-1_i16).to_le_bytes())),
                ("valid_max".to_owned(), value(Datatype::Int16, &4_i16.to_le_bytes())),
            ],
            ..Variable::default()
        };
        let unpack = Unpack::of(&variable).unwrap();
        let column = unpack.apply(&Column::from_values(Datatype::Int16, &[0_i16, 3, -1]));
        let values = column.values::<f64>().unwrap();
        assert_eq!(values[..2], [10.0, 11.5]);
        assert!(values[2].is_nan());
        let kept = unpack.attributes(&variable.attributes);
        let limit = kept
            .iter()
            .find(|(name, _)| name == "valid_max")
            .map(|(_, v)| v.data.clone());
        assert_eq!(limit, Some(12_f64.to_le_bytes().to_vec()));
        assert!(kept.iter().all(|(name, _)| name != "scale_factor"));
    }
}
