//! Prints the number of cells and their aggregates.

mod stored;

use anyhow::{Context as _, Result, ensure};
use hyperslab::conventions::{self, Dataset};
use hyperslab::internals::view::selection::display_name;
use hyperslab::schema::Field;
use hyperslab::{Aggregate, Datatype, Scalar};
use serde_json::{Map, Value, json};

use self::stored::{Stored, is_cut};
use super::job::Job;
use crate::args::{Agg, Export};
use crate::errors::usage;
use crate::show;

/// Prints the number of cells, or aggregates of each attribute.
pub(super) async fn print(job: &Job, args: &Export) -> Result<()> {
    let why = "--count and --agg print to standard output; leave OUT out";
    ensure!(args.out == "-", usage("OUT", why));
    if !args.count {
        return aggregates(job, args).await;
    }
    let count = match job.is_empty() {
        true => 0,
        false => job.array.count(&job.query).await.with_context(|| cannot_read(job))?,
    };
    match args.json {
        true => show::line(json!({ "count": count })),
        false => show::line(count),
    }
}

fn cannot_read(job: &Job) -> String {
    format!("cannot read {}", job.url)
}

async fn aggregates(job: &Job, args: &Export) -> Result<()> {
    let attributes: Vec<&Field> = job.fields.iter().filter(|f| !f.is_dimension()).collect();
    let named = args.pick.attrs.is_some();
    let is_dimension = |name: &&String| job.array.schema().dimension(name).is_some();
    if let Some(name) = args.pick.attrs.iter().flatten().find(is_dimension) {
        let why = format!("'{name}' is a dimension, and aggregates are of attributes; name attributes only");
        return Err(usage("--attrs", why));
    }
    // Everything is checked before anything is read.
    for field in &attributes {
        for agg in &args.agg {
            let name = display_name(&field.name);
            let why = format!("'{name}' has no {}; choose another attribute", word(*agg));
            ensure!(!named || is_defined(*agg, field), usage("--agg", why));
        }
    }
    let dataset = match args.stored {
        true => Dataset::default(),
        false => conventions::of_array(&job.array)
            .await
            .with_context(|| cannot_read(job))?,
    };
    let mut all: Vec<(&Field, Vec<Option<Value>>)> = Vec::new();
    for field in attributes {
        let defined = args.agg.iter().filter(|agg| is_defined(**agg, field));
        let wanted: Vec<Aggregate> = defined.map(|agg| aggregate(*agg)).collect();
        let found = match job.is_empty() {
            true => wanted.iter().map(nothing).collect(),
            false => Stored::of(&dataset, field).aggregates(job, field, &wanted).await?,
        };
        // Sums end at the limits of the type.
        let cut = wanted
            .iter()
            .zip(&found)
            .any(|(a, value)| *a == Aggregate::Sum && is_cut(value.as_ref()));
        ensure!(
            !cut,
            "the sum of '{}' is beyond 64 bits; use mean and count instead",
            display_name(&field.name)
        );
        let mut found = found.into_iter();
        let values = args.agg.iter().map(|agg| {
            let value = is_defined(*agg, field).then(|| found.next().flatten())?;
            Some(value.map_or(Value::Null, |value| shown(*agg, field, &value)))
        });
        all.push((field, values.collect()));
    }
    match args.json {
        true => show::line(Value::Object(document(&args.agg, &all))),
        false => table(&args.agg, all),
    }
}

/// An aggregate over no cells: counts are 0, all others have no value.
fn nothing(aggregate: &Aggregate) -> Option<Scalar> {
    matches!(aggregate, Aggregate::Count | Aggregate::NullCount).then_some(Scalar::U64(0))
}

/// Whether a field has an aggregate. The order of an enumeration's labels is unknown.
fn is_defined(agg: Agg, field: &Field) -> bool {
    let labels = field.enumeration.is_some() && !matches!(agg, Agg::Count | Agg::Nulls);
    !labels && aggregate(agg).is_defined_for(field.datatype, field.cell)
}

/// A value as JSON. Extremes have the type of their field.
fn shown(agg: Agg, field: &Field, value: &Scalar) -> Value {
    let datatype = match (agg, value) {
        (_, Scalar::F64(_)) => Datatype::Float64,
        (Agg::Min | Agg::Max, _) => field.datatype,
        (_, Scalar::U64(_)) => Datatype::Uint64,
        _ => Datatype::Int64,
    };
    show::coordinate(datatype, value)
}

fn document(aggs: &[Agg], all: &[(&Field, Vec<Option<Value>>)]) -> Map<String, Value> {
    let values = |values: &[Option<Value>]| {
        let pairs = aggs.iter().zip(values);
        let pairs = pairs.filter_map(|(agg, value)| Some((word(*agg).to_owned(), value.clone()?)));
        Value::Object(pairs.collect())
    };
    all.iter()
        .map(|(field, found)| (display_name(&field.name).to_owned(), values(found)))
        .collect()
}

fn table(aggs: &[Agg], all: Vec<(&Field, Vec<Option<Value>>)>) -> Result<()> {
    let header: Vec<&str> = std::iter::once("attribute")
        .chain(aggs.iter().map(|agg| word(*agg)))
        .collect();
    let text = |value: Option<Value>| match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let rows = all.into_iter().map(|(field, values)| {
        let name = display_name(&field.name).to_owned();
        std::iter::once(name).chain(values.into_iter().map(text)).collect()
    });
    show::table(&header, rows.collect())
}

const fn aggregate(agg: Agg) -> Aggregate {
    match agg {
        Agg::Min => Aggregate::Min,
        Agg::Max => Aggregate::Max,
        Agg::Sum => Aggregate::Sum,
        Agg::Mean => Aggregate::Mean,
        Agg::Count => Aggregate::Count,
        Agg::Nulls => Aggregate::NullCount,
    }
}

const fn word(agg: Agg) -> &'static str {
    match agg {
        Agg::Min => "min",
        Agg::Max => "max",
        Agg::Sum => "sum",
        Agg::Mean => "mean",
        Agg::Count => "count",
        Agg::Nulls => "nulls",
    }
}
