//! Prints the number of cells and their aggregates.

use anyhow::{Context as _, Result, ensure};
use hyperslab::internals::view::selection::display_name;
use hyperslab::schema::Field;
use hyperslab::{Aggregate, Datatype, Scalar};
use serde_json::{Map, Value, json};

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
    let mut wanted = Vec::new();
    for field in &attributes {
        for agg in &args.agg {
            // The order of an enumeration's labels is unknown.
            let labels = field.enumeration.is_some() && !matches!(agg, Agg::Count | Agg::Nulls);
            let defined = !labels && aggregate(*agg).is_defined_for(field.datatype, field.cell);
            let name = display_name(&field.name);
            let why = || {
                usage(
                    "--agg",
                    format!("'{name}' has no {}; choose another attribute", word(*agg)),
                )
            };
            ensure!(defined || !named, why());
            wanted.extend(defined.then(|| (aggregate(*agg), field.name.as_str())));
        }
    }
    let found = match job.is_empty() {
        true => vec![None; wanted.len()],
        false => {
            let found = job.array.aggregate(&job.query, &wanted).await;
            found.with_context(|| cannot_read(job))?
        }
    };
    for ((aggregate, name), value) in wanted.iter().zip(&found) {
        // Sums end at the limits of the type.
        let is_cut = matches!(value, Some(Scalar::I64(i64::MIN | i64::MAX) | Scalar::U64(u64::MAX)));
        ensure!(
            *aggregate != Aggregate::Sum || !is_cut,
            "the sum of '{}' is beyond 64 bits; use mean and count instead",
            display_name(name)
        );
    }
    let mut found = found.into_iter();
    let mut pairs = wanted.iter().zip(&mut found).peekable();
    let mut all: Vec<(&Field, Vec<Option<Value>>)> = Vec::new();
    for field in attributes {
        let values = args.agg.iter().map(|agg| {
            let is_own = |((aggregate_of, name), _): &(&(Aggregate, &str), Option<Scalar>)| {
                *aggregate_of == aggregate(*agg) && *name == field.name
            };
            let (_, value) = pairs.next_if(is_own)?;
            Some(value.map_or(Value::Null, |value| shown(*agg, field, &value)))
        });
        all.push((field, values.collect()));
    }
    match args.json {
        true => show::line(Value::Object(document(&args.agg, &all))),
        false => table(&args.agg, all),
    }
}

/// A value as JSON. Extremes have the type of their field.
fn shown(agg: Agg, field: &Field, value: &Scalar) -> Value {
    let datatype = match (agg, value) {
        (Agg::Min | Agg::Max, _) => field.datatype,
        (_, Scalar::F64(_)) => Datatype::Float64,
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
