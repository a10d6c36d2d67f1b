//! Conditions on unpacked values as conditions on stored numbers.
//!
//! A stored number `s` stands for `s · scale + offset`. The constant of a comparison is converted instead, once: the
//! stored number whose value it is, or the two between which it lies.

use super::model::{Application, Dataset, Missing, Packing, Variable};
use super::value::stored_number;
use crate::datatype::{CellCount, Datatype};
use crate::format::attribute::display_name;
use crate::format::field::Field;
use crate::format::schema::Schema;
use crate::query::condition::field_name;
use crate::query::{CompareOp, Condition};
use crate::scalar::Scalar;

/// The largest float next to which all whole numbers are floats too.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// Rounding errors of unpacking, in units of the last place of its largest term.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The condition on stored numbers for a `condition` on the values that `dataset` describes. Comparisons and lists of a
/// packed attribute test unpacked values, and those of any attribute that an application describes fail for missing
/// values. Values that differ only by the rounding of `stored · scale + offset` are equal.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
/// # use hyperslab::{CellCount, Condition, Datatype};
/// use hyperslab::conventions::{Application, Dataset, Packing, Variable, stored_condition};
///
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("temp", Datatype::Int16, CellCount::ONE)]);
/// let temp = Variable {
///     attribute: "temp".to_owned(),
///     packing: Some(Packing { scale: 0.5, offset: 270.0 }),
///     ..Variable::default()
/// };
/// let dataset = Dataset { application: Application::Cf, variables: vec![temp], ..Dataset::default() };
/// let stored = stored_condition(&"temp > 280.1".parse()?, &dataset, &schema);
/// assert_eq!(stored, "temp >= 21".parse()?);
/// # Ok::<(), hyperslab::Error>(())
/// ```
pub fn stored_condition(condition: &Condition, dataset: &Dataset, schema: &Schema) -> Condition {
    let all = |children: &[Condition]| {
        let each = children.iter().map(|c| stored_condition(c, dataset, schema));
        each.collect()
    };
    match condition {
        Condition::And(children) => Condition::And(all(children)),
        Condition::Or(children) => Condition::Or(all(children)),
        Condition::Not(inner) => stored_condition(&inner.negated(), dataset, schema),
        Condition::Compare { field, .. } | Condition::In { field, .. } => {
            let Some((found, variable)) = described(dataset, schema, field) else {
                return condition.clone();
            };
            let is_number = found.datatype.is_integer() || found.datatype.is_float();
            let test = match variable.packing.filter(|_| is_number) {
                Some(packing) => unpacking(condition, packing, found.datatype),
                None => condition.clone(),
            };
            let valid = valid_condition(field, found.datatype, &variable.missing);
            let not_nan = (found.datatype.is_float() && finds_nan(condition)).then(|| not_nan(field));
            let mut tests: Vec<Condition> = [Some(test), valid, not_nan].into_iter().flatten().collect();
            match tests.len() {
                1 => tests.remove(0),
                _ => Condition::And(tests),
            }
        }
        Condition::Like { .. } | Condition::IsNull { .. } => condition.clone(),
    }
}

/// The field that a condition names, and the variable that describes its numbers.
fn described<'a>(dataset: &'a Dataset, schema: &Schema, name: &str) -> Option<(Field, &'a Variable)> {
    // In other arrays, a fill value that somebody chose may be a value as well.
    if matches!(dataset.application, Application::Bare | Application::Hyperslab) {
        return None;
    }
    let name = field_name(schema, name);
    let has_labels = schema.attribute(name)?.1.enumeration.is_some();
    let field = Field::find(schema, name)?;
    let is_comparable = field.cell == CellCount::ONE && !field.datatype.is_bytes() && !has_labels;
    let mut variables = dataset.variables.iter().filter(|v| v.path.is_empty());
    let variable = variables.find(|v| v.attribute == name)?;
    is_comparable.then_some((field, variable))
}

/// The condition that holds for all numbers of a field that are not missing; `None` if all are valid. NaN passes.
pub fn valid_condition(field: &str, datatype: Datatype, missing: &Missing) -> Option<Condition> {
    let name = || display_name(field).to_owned();
    let number = |value: &serde_json::Value| {
        let stored = stored_number(value, datatype);
        stored.filter(|v| !v.as_f64().is_some_and(f64::is_nan))
    };
    let values: Vec<Scalar> = missing.values.iter().filter_map(number).collect();
    let compare = |op: CompareOp, value: &Option<serde_json::Value>| {
        let (field, value) = (name(), number(value.as_ref()?)?);
        Some(Condition::Compare { field, op, value })
    };
    let listed = (!values.is_empty()).then(|| Condition::In {
        field: name(),
        values,
        negated: true,
    });
    let least = compare(CompareOp::Ge, &missing.valid_min);
    let mut tests: Vec<Condition> = listed.into_iter().chain(least).collect();
    tests.extend(compare(CompareOp::Le, &missing.valid_max));
    match tests.len() {
        0 => None,
        1 => tests.pop(),
        _ => Some(Condition::And(tests)),
    }
}

/// Whether NaN passes.
fn finds_nan(condition: &Condition) -> bool {
    match condition {
        Condition::Compare { op, .. } => *op == CompareOp::Ne,
        Condition::In { values, negated, .. } => *negated || values.iter().any(|v| v.as_f64().is_some_and(f64::is_nan)),
        _ => false,
    }
}

/// The condition that holds for all floats but NaN.
pub fn not_nan(field: &str) -> Condition {
    Condition::Compare {
        field: display_name(field).to_owned(),
        op: CompareOp::Ge,
        value: Scalar::F64(f64::NEG_INFINITY),
    }
}

/// A comparison or a list with stored numbers in place of unpacked values.
fn unpacking(condition: &Condition, packing: Packing, datatype: Datatype) -> Condition {
    let place = |value: &Scalar| Some(Place::of(value.as_f64()?, packing, datatype));
    match condition {
        Condition::Compare { field, op, value } => match place(value) {
            Some(place) => place.compare(field, *op, packing.scale < 0.0),
            None => condition.clone(),
        },
        Condition::In { field, values, negated } => {
            let (mut exact, mut tests) = (Vec::new(), Vec::new());
            for value in values {
                match place(value) {
                    Some(Place::At(stored)) => exact.push(stored),
                    Some(Place::Above(_)) => {}
                    Some(Place::Near(span)) => tests.push(within(field, span, *negated)),
                    None => exact.push(value.clone()),
                }
            }
            let (field, values, negated) = (field.clone(), exact, *negated);
            let listed = Condition::In { field, values, negated };
            match (tests.is_empty(), negated) {
                (true, _) => listed,
                (false, true) => Condition::And([vec![listed], tests].concat()),
                (false, false) => Condition::Or([vec![listed], tests].concat()),
            }
        }
        other => other.clone(),
    }
}

/// The condition that holds for the floats from `low` to `high`; if `negated`, for all others but NaN.
fn within(field: &str, (low, high): (f64, f64), negated: bool) -> Condition {
    let compare = |op, value| Condition::Compare {
        field: field.to_owned(),
        op,
        value: Scalar::F64(value),
    };
    match negated {
        true => Condition::Or(vec![compare(CompareOp::Lt, low), compare(CompareOp::Gt, high)]),
        false => Condition::And(vec![compare(CompareOp::Ge, low), compare(CompareOp::Le, high)]),
    }
}

/// Where a value is among the stored numbers.
#[derive(Debug, PartialEq)]
enum Place {
    /// It is the value of this number.
    At(Scalar),
    /// It lies between the values of this whole number and of the next greater one.
    Above(i128),
    /// It is the value of the floats from the first to the second, up to the rounding of unpacking.
    Near((f64, f64)),
}

impl Place {
    fn of(value: f64, packing: Packing, datatype: Datatype) -> Self {
        let exact = (value - packing.offset) / packing.scale;
        if datatype.is_float() && exact.is_finite() {
            let largest = (exact * packing.scale).abs().max(packing.offset.abs()).max(value.abs());
            let rounding = (largest * ROUNDING / packing.scale).abs();
            return Self::Near((exact - rounding, exact + rounding));
        }
        // Unpacking does not distinguish numbers that large.
        if !exact.is_finite() || exact.abs() > WHOLE_MAX {
            return Self::At(Scalar::F64(exact));
        }
        let nearest = exact.round();
        let term = nearest * packing.scale;
        let difference = term + packing.offset - value;
        let largest = term.abs().max(packing.offset.abs()).max(value.abs());
        if difference.abs() <= largest * ROUNDING {
            return Self::At(Scalar::I64(whole(nearest)));
        }
        let is_below = (difference < 0.0) == (packing.scale > 0.0);
        Self::Above(i128::from(whole(nearest)) - i128::from(!is_below))
    }

    /// The comparison of stored numbers. A negative scale turns their order around.
    fn compare(self, field: &str, op: CompareOp, is_turned: bool) -> Condition {
        let field = field.to_owned();
        let op = match op {
            CompareOp::Lt if is_turned => CompareOp::Gt,
            CompareOp::Le if is_turned => CompareOp::Ge,
            CompareOp::Gt if is_turned => CompareOp::Lt,
            CompareOp::Ge if is_turned => CompareOp::Le,
            other => other,
        };
        let below = match self {
            Self::At(value) => return Condition::Compare { field, op, value },
            Self::Near((low, high)) => {
                let value = match op {
                    CompareOp::Eq | CompareOp::Ne => return within(&field, (low, high), op == CompareOp::Ne),
                    CompareOp::Lt | CompareOp::Ge => Scalar::F64(low),
                    CompareOp::Gt | CompareOp::Le => Scalar::F64(high),
                };
                return Condition::Compare { field, op, value };
            }
            Self::Above(below) => below,
        };
        let number = |v: i128| Scalar::I64(i64::try_from(v).unwrap_or(i64::MAX));
        let (op, value) = match op {
            CompareOp::Lt | CompareOp::Le => (CompareOp::Le, number(below)),
            CompareOp::Gt | CompareOp::Ge => (CompareOp::Ge, number(below + 1)),
            CompareOp::Eq | CompareOp::Ne => {
                let (values, negated) = (Vec::new(), op == CompareOp::Ne);
                return Condition::In { field, values, negated };
            }
        };
        Condition::Compare { field, op, value }
    }
}

/// A float of at most [`WHOLE_MAX`] that is whole.
#[allow(clippy::cast_possible_truncation, reason = "the float is whole and small enough")]
const fn whole(float: f64) -> i64 {
    float as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTHS: Packing = Packing {
        scale: 0.1,
        offset: 0.0,
    };
    const FALLING: Packing = Packing {
        scale: -0.25,
        offset: 10.0,
    };

    /// The stored numbers from -40 to 40 that pass.
    fn passing(text: &str, packing: Packing) -> Vec<i64> {
        let stored = unpacking(&text.parse().unwrap(), packing, Datatype::Int16);
        let holds = |s: &i64| match &stored {
            Condition::Compare { op, value, .. } => {
                let order = s.partial_cmp(&i64::try_from(value.as_i128().unwrap()).unwrap());
                match op {
                    CompareOp::Lt => order.is_some_and(|o| o.is_lt()),
                    CompareOp::Le => order.is_some_and(|o| o.is_le()),
                    CompareOp::Gt => order.is_some_and(|o| o.is_gt()),
                    CompareOp::Ge => order.is_some_and(|o| o.is_ge()),
                    CompareOp::Eq => order.is_some_and(|o| o.is_eq()),
                    CompareOp::Ne => order.is_some_and(|o| o.is_ne()),
                }
            }
            Condition::In { values, negated, .. } => {
                values.iter().any(|v| v.as_i128() == Some(i128::from(*s))) != *negated
            }
            _ => unreachable!("a comparison becomes a comparison or a list"),
        };
        (-40..=40).filter(holds).collect()
    }

    /// The same, by exact decimals: `stored · scale + offset`, all in hundredths.
    fn by_hundredths(holds: impl Fn(i64) -> bool, (scale, offset): (i64, i64)) -> Vec<i64> {
        (-40..=40).filter(|s| holds(s * scale + offset)).collect()
    }

    #[test]
    fn comparisons_of_unpacked_values_select_the_same_numbers_as_exact_decimals() {
        for (packing, hundredths) in [(TENTHS, (10, 0)), (FALLING, (-25, 1000))] {
            for c in -450..=2100_i64 {
                let text = format!("{}{}.{:02}", if c < 0 { "-" } else { "" }, c.abs() / 100, c.abs() % 100);
                let check = |op: &str, holds: &dyn Fn(i64) -> bool| {
                    let found = passing(&format!("a {op} {text}"), packing);
                    assert_eq!(found, by_hundredths(holds, hundredths), "{packing:?} a {op} {text}");
                };
                check("<", &|v| v < c);
                check("<=", &|v| v <= c);
                check(">", &|v| v > c);
                check(">=", &|v| v >= c);
                check("==", &|v| v == c);
                check("!=", &|v| v != c);
                let found = passing(&format!("a in ({text}, 0.3, 0.31)"), packing);
                assert_eq!(found, by_hundredths(|v| v == c || v == 30 || v == 31, hundredths));
            }
        }
    }

    /// Whether a stored float passes.
    fn passes(condition: &Condition, stored: f64) -> bool {
        match condition {
            Condition::And(all) => all.iter().all(|c| passes(c, stored)),
            Condition::Or(any) => any.iter().any(|c| passes(c, stored)),
            Condition::In { values, negated, .. } => values.iter().any(|v| v.as_f64() == Some(stored)) != *negated,
            Condition::Compare { op, value, .. } => {
                let value = value.as_f64().unwrap();
                match op {
                    CompareOp::Lt => stored < value,
                    CompareOp::Le => stored <= value,
                    CompareOp::Gt => stored > value,
                    CompareOp::Ge => stored >= value,
                    CompareOp::Eq => stored == value,
                    CompareOp::Ne => stored != value,
                }
            }
            _ => unreachable!("a comparison becomes comparisons and lists"),
        }
    }

    #[test]
    fn floats_that_unpack_to_a_value_up_to_rounding_equal_it() {
        let kelvin = Packing {
            scale: 0.01,
            offset: 273.15,
        };
        // The value of the stored 3 or 5 is the constant, which is no quotient of floats.
        for (packing, constant, stored) in [(TENTHS, "0.3", 3.0), (kelvin, "273.2", 5.0), (FALLING, "9.25", 3.0)] {
            let below = if packing.scale < 0.0 {
                stored + 0.001
            } else {
                stored - 0.001
            };
            let above = 2.0 * stored - below;
            for (test, found) in [
                ("a < C", [true, false, false]),
                ("a <= C", [true, true, false]),
                ("a > C", [false, false, true]),
                ("a >= C", [false, true, true]),
                ("a == C", [false, true, false]),
                ("a != C", [true, false, true]),
                ("a in (C, 7000.0)", [false, true, false]),
                ("a not in (C, 7000.0)", [true, false, true]),
            ] {
                let text = test.replace('C', constant);
                let condition = unpacking(&text.parse().unwrap(), packing, Datatype::Float64);
                let passing = [below, stored, above].map(|s| passes(&condition, s));
                assert_eq!(passing, found, "{packing:?} {text}: {condition:?}");
            }
        }
    }

    #[test]
    fn values_that_no_number_has_select_none_or_all() {
        let packing = Packing {
            scale: 0.01,
            offset: 273.15,
        };
        for (value, expect) in [
            (f64::INFINITY, Scalar::F64(f64::INFINITY)),
            (1e300, Scalar::F64((1e300 - 273.15) / 0.01)),
        ] {
            assert_eq!(Place::of(value, packing, Datatype::Int16), Place::At(expect));
        }
        assert!(matches!(Place::of(f64::NAN, packing, Datatype::Int16), Place::At(Scalar::F64(v)) if v.is_nan()));
        assert_eq!(Place::of(280.0, packing, Datatype::Int16), Place::At(Scalar::I64(685)));
        assert_eq!(Place::of(280.001, packing, Datatype::Int16), Place::Above(685));
        assert_eq!(Place::of(279.999, packing, Datatype::Int16), Place::Above(684));
    }
}
