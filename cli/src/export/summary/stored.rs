//! Aggregates of unpacked values. Missing values are left out.

use anyhow::{Context as _, Result};
use hyperslab::conventions::{self, Application, Dataset, Packing};
use hyperslab::schema::Field;
use hyperslab::{Aggregate, CellCount, Condition, Query, Scalar};

use super::super::job::Job;

/// The packing and the missing values of an attribute.
#[derive(Debug, Default)]
pub(super) struct Stored {
    packing: Option<Packing>,
    /// Holds for stored numbers that are not missing. NaN is tested separately.
    valid: Option<Condition>,
    /// Whether NaN means that a value is missing.
    has_nan: bool,
}

impl Stored {
    /// The meaning of a field, as the array's description has it.
    pub(super) fn of(dataset: &Dataset, field: &Field) -> Self {
        let is_comparable = field.cell == CellCount::ONE && !field.datatype.is_bytes();
        let mut variables = dataset.variables.iter().filter(|v| v.path.is_empty());
        let variable = variables.find(|v| v.attribute == field.name);
        let Some(variable) = variable.filter(|_| is_comparable && field.enumeration.is_none()) else {
            return Self::default();
        };
        let missing = &variable.missing;
        // Arrays that no known application wrote do not say what NaN means.
        let is_known = !matches!(dataset.application, Application::Bare | Application::Hyperslab);
        let says_so = !missing.values.is_empty() || missing.valid_min.is_some() || missing.valid_max.is_some();
        Self {
            packing: variable
                .packing
                .filter(|_| field.datatype.is_integer() || field.datatype.is_float()),
            valid: conventions::valid_condition(&field.name, field.datatype, missing),
            has_nan: field.datatype.is_float() && (is_known || says_so),
        }
    }

    /// Holds for the values to aggregate. Minimum and maximum ignore NaN, so they need no test and can use statistics.
    fn condition(&self, field: &Field, wanted: &[Aggregate]) -> Option<Condition> {
        let sees_nan = |a: &Aggregate| matches!(a, Aggregate::Sum | Aggregate::Mean | Aggregate::NullCount);
        let not_nan = (self.has_nan && wanted.iter().any(sees_nan)).then(|| conventions::not_nan(&field.name));
        both(self.valid.clone(), not_nan)
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
        let valid = self.condition(field, wanted);
        if self.packing.is_none() && valid.is_none() {
            return read(&job.query, wanted).await;
        }
        let mut all: Vec<Aggregate> = wanted.iter().map(|aggregate| self.stored(*aggregate)).collect();
        all.extend([Aggregate::Count, Aggregate::NullCount]);
        let query = Query {
            condition: both(job.query.condition.clone(), valid.clone()),
            ..job.query.clone()
        };
        let mut found = read(&query, &all).await?;
        let number = |value: Option<Scalar>| value.and_then(|v| v.as_i128()).unwrap_or(0);
        let (nulls, cells) = (number(found.pop().flatten()), number(found.pop().flatten()));
        let values = cells - nulls;
        let cells = match valid {
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

    /// Unpacks an aggregate of `values` stored numbers.
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

fn both(one: Option<Condition>, other: Option<Condition>) -> Option<Condition> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Condition::And(vec![one, other])),
        (one, other) => one.or(other),
    }
}
