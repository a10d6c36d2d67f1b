//! Aggregates of the values that stored numbers stand for: unpacked, and without missing values.

use anyhow::{Context as _, Result};
use hyperslab::conventions::{Application, Dataset, Missing, Packing};
use hyperslab::internals::view::selection::display_name;
use hyperslab::schema::Field;
use hyperslab::{Aggregate, CompareOp, Condition, Query, Scalar};
use serde_json::Value;

use super::super::job::Job;

/// What the stored numbers of an attribute mean.
#[derive(Debug, Default)]
pub(super) struct Stored {
    packing: Option<Packing>,
    /// Holds for the numbers that are values.
    valid: Option<Condition>,
}

impl Stored {
    /// The meaning of a field, as the array's description has it.
    pub(super) fn of(dataset: &Dataset, field: &Field) -> Self {
        let is_number = field.datatype.is_integer() || field.datatype.is_float();
        let mut variables = dataset.variables.iter().filter(|v| v.path.is_empty());
        let variable = variables.find(|v| v.attribute == field.name);
        let Some(variable) = variable.filter(|_| is_number && field.enumeration.is_none()) else {
            return Self::default();
        };
        let valid = valid(field, &variable.missing);
        // Arrays of no application do not say what NaN means.
        let is_known = !matches!(dataset.application, Application::Bare | Application::Hyperslab);
        let has_nan = field.datatype.is_float() && (is_known || valid.is_some());
        Self {
            packing: variable.packing,
            valid: both(valid, has_nan.then(|| not_nan(field))),
        }
    }

    /// The aggregates of a field; each is `None` if there is no value.
    pub(super) async fn aggregates(
        &self,
        job: &Job,
        field: &Field,
        wanted: &[Aggregate],
    ) -> Result<Vec<Option<Scalar>>> {
        let name = field.name.as_str();
        let read = async |query: &Query, aggregates: &[Aggregate]| {
            let named: Vec<(Aggregate, &str)> = aggregates.iter().map(|a| (*a, name)).collect();
            let found = job.array.aggregate(query, &named).await;
            found.with_context(|| format!("cannot read {}", job.url))
        };
        if self.packing.is_none() && self.valid.is_none() {
            return read(&job.query, wanted).await;
        }
        let mut all: Vec<Aggregate> = wanted.iter().map(|aggregate| self.stored(*aggregate)).collect();
        all.extend([Aggregate::Count, Aggregate::NullCount]);
        let query = Query {
            condition: both(job.query.condition.clone(), self.valid.clone()),
            ..job.query.clone()
        };
        let mut found = read(&query, &all).await?;
        let number = |value: Option<Scalar>| value.and_then(|v| v.as_i128()).unwrap_or(0);
        let (nulls, cells) = (number(found.pop().flatten()), number(found.pop().flatten()));
        let values = cells - nulls;
        let cells = match &self.valid {
            Some(_) => number(read(&job.query, &[Aggregate::Count]).await?.pop().flatten()),
            None => cells,
        };
        let count = |n: i128| u64::try_from(n).ok().map(Scalar::U64);
        let shown = |(aggregate, value): (&Aggregate, Option<Scalar>)| match aggregate {
            Aggregate::Count => count(cells),
            Aggregate::NullCount => count(cells - values),
            Aggregate::Sum if is_cut(value.as_ref()) => value,
            Aggregate::Sum => self.unpacked(value, values as f64),
            _ => self.unpacked(value, 1.0),
        };
        Ok(wanted.iter().zip(found).map(shown).collect())
    }

    /// The aggregate of the stored numbers. A negative scale turns their order around.
    fn stored(&self, aggregate: Aggregate) -> Aggregate {
        match (aggregate, self.packing) {
            (Aggregate::Min, Some(packing)) if packing.scale < 0.0 => Aggregate::Max,
            (Aggregate::Max, Some(packing)) if packing.scale < 0.0 => Aggregate::Min,
            _ => aggregate,
        }
    }

    /// What an aggregate of `values` stored numbers stands for.
    fn unpacked(&self, value: Option<Scalar>, values: f64) -> Option<Scalar> {
        let Some(packing) = self.packing else { return value };
        let stored = value.as_ref().and_then(Scalar::as_f64)?;
        Some(Scalar::F64(stored * packing.scale + packing.offset * values))
    }
}

/// Whether a sum ended at the limits of its type.
pub(super) const fn is_cut(sum: Option<&Scalar>) -> bool {
    matches!(sum, Some(Scalar::I64(i64::MIN | i64::MAX) | Scalar::U64(u64::MAX)))
}

/// The condition that holds for all values that are not missing.
fn valid(field: &Field, missing: &Missing) -> Option<Condition> {
    let name = || display_name(&field.name).to_owned();
    let number = |value: &Value| number(field, value);
    let values: Vec<Scalar> = missing.values.iter().filter_map(number).collect();
    let compare = |op: CompareOp, value: &Option<Value>| {
        let (field, value) = (name(), number(value.as_ref()?)?);
        Some(Condition::Compare { field, op, value })
    };
    let listed = (!values.is_empty()).then(|| Condition::In {
        field: name(),
        values,
        negated: true,
    });
    let least = compare(CompareOp::Ge, &missing.valid_min);
    both(both(listed, least), compare(CompareOp::Le, &missing.valid_max))
}

/// A number of the field's type; `None` if it has no such value.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the number is rounded to the type of the field"
)]
fn number(field: &Field, value: &Value) -> Option<Scalar> {
    let whole = value
        .as_i64()
        .map(i128::from)
        .or_else(|| value.as_u64().map(i128::from));
    let float = value.as_f64().filter(|v| v.is_finite());
    match whole {
        Some(whole) if !field.datatype.is_float() => Scalar::from_i128(field.datatype, whole),
        _ if field.datatype.is_float() && field.datatype.size() == 4 => float.map(|v| Scalar::F32(v as f32)),
        _ if field.datatype.is_float() => float.map(Scalar::F64),
        _ => None,
    }
}

/// The condition that holds for all floats but NaN.
fn not_nan(field: &Field) -> Condition {
    Condition::Compare {
        field: display_name(&field.name).to_owned(),
        op: CompareOp::Ge,
        value: Scalar::F64(f64::NEG_INFINITY),
    }
}

fn both(one: Option<Condition>, other: Option<Condition>) -> Option<Condition> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Condition::And(vec![one, other])),
        (one, other) => one.or(other),
    }
}
