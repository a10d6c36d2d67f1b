//! `evolve`: changes the schema of an array.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::maintain::{self, Evolution};
use hyperslab::schema::{Attribute, DEFAULT_LEVEL, Enumeration, Field, Filter, Pipeline, Schema};
use hyperslab::{Array, CellCount, Column, Datatype, ScalarRange, Window, WriteOptions, schema_json};
use serde_json::{Value, json};

use crate::args::Evolve;
use crate::errors::usage;
use crate::store::{Env, seed};
use crate::{dry_run, info, input, lists, schema, time_args};

/// Writes the array's next schema.
pub(crate) async fn evolve(env: &Env, args: &Evolve) -> Result<()> {
    let place = dry_run::place(&args.array)?;
    let array = if args.dry_run {
        env.open_at(&place, Window::ALL).await?
    } else {
        env.open_to_write(&args.array, None).await?
    };
    let options = WriteOptions {
        timestamp_ms: time_args::or_now(args.timestamp)?,
        seed: seed()?,
        sync: true,
    };
    let done = maintain::evolve(&array, &evolution(args, &array).await?, &options).await;
    done.with_context(|| format!("cannot change the schema of {}", args.array))?;
    if !args.dry_run && !args.json {
        return Ok(());
    }
    // In a dry run, the new schema is in memory only.
    let array = env.open_at(&place, Window::ALL).await?;
    if args.json {
        info::print_json(&array, &args.array).await
    } else {
        schema::print(&array, &args.array).await
    }
}

/// The changes that the arguments ask for.
async fn evolution(args: &Evolve, array: &Array) -> Result<Evolution> {
    let mut change = Evolution {
        drop: args.drop_attr.clone(),
        drop_enumerations: args.drop_enum.clone(),
        after_latest: args.timestamp.is_none(),
        ..Evolution::default()
    };
    for text in &args.add_attr {
        let added = attribute(text).map_err(|e| usage("--add-attr", format!("{e:#}")))?;
        change.add.push(added);
    }
    for text in &args.add_enum {
        let added = enumeration(text).map_err(|e| usage("--add-enum", format!("{e:#}")))?;
        change.add_enumerations.push(added);
    }
    for text in &args.extend_enum {
        change
            .extend_enumerations
            .push(more_values(text, array, &args.array).await?);
    }
    if let Some(text) = &args.expand_domain {
        change.current_domain = Some(domain(text, array.schema()).map_err(|e| usage("--expand-domain", e))?);
    }
    Ok(change)
}

/// Parses the values that `NAME=A,B` appends to an enumeration.
async fn more_values(text: &str, array: &Array, url: &str) -> Result<(String, Column)> {
    let refused = |why: String| usage("--extend-enum", why);
    let Some((name, values)) = text.split_once('=') else {
        bail!(refused(format!("'{text}' is not written as NAME=A,B")))
    };
    let old = array.enumeration(name).await;
    let old = old.with_context(|| format!("cannot extend the enumeration '{name}' of {url}"))?;
    let cells = lists::values(values).map_err(refused)?;
    let text = Column::from_cells(Datatype::StringUtf8, cells);
    let field = Field::new(name, old.values.datatype, old.values.cell);
    let named = input::Named {
        name: name.to_owned(),
        values: input::Values::Text(text, Arc::default(), input::TextRules::default()),
    };
    let column = input::column(named, field).map_err(|e| refused(format!("{e:#}")))?;
    Ok((old.name.clone(), column))
}

/// Parses a box, which has a range for each dimension.
fn domain(text: &str, schema: &Schema) -> Result<Vec<ScalarRange>, String> {
    let ranges = lists::values(text)?;
    let (given, needed) = (ranges.len(), schema.dimensions.len());
    if given != needed {
        return Err(format!(
            "{given} ranges for {needed} dimensions; give one for each, as in 0:99,0:199"
        ));
    }
    let ranges = ranges.iter().zip(&schema.dimensions);
    ranges
        .map(|(text, d)| input::range(text, d.datatype, d.cell).map_err(|e| format!("{e:#}")))
        .collect()
}

/// Parses an enumeration from JSON, as in a schema.
fn enumeration(text: &str) -> Result<Enumeration> {
    let json: Value = serde_json::from_str(text).context("this is not JSON")?;
    let any = json!([{"name": "a", "type": "int32"}]);
    part_of_schema(any, json!([json]))?
        .1
        .pop()
        .context("there is no enumeration in it")
}

/// Parses attributes and enumerations as parts of a schema with a placeholder dimension.
fn part_of_schema(attributes: Value, enumerations: Value) -> Result<(Schema, Vec<Enumeration>)> {
    let dimension = json!({"name": "", "type": "int32", "domain": [0, 1], "tile": 1});
    let whole =
        json!({"type": "sparse", "dimensions": [dimension], "attributes": attributes, "enumerations": enumerations});
    Ok(schema_json::from_json(&whole)?)
}

/// Parses `name:int32`, `name:float64[3]`, `name:string_utf8[]?`, or JSON.
fn attribute(text: &str) -> Result<Attribute> {
    if text.trim_start().starts_with('{') {
        let json: Value = serde_json::from_str(text).context("this is not JSON")?;
        return part_of_schema(json!([json]), json!([]))?
            .0
            .attributes
            .pop()
            .context("there is no attribute in it");
    }
    let (name, kind) = text
        .rsplit_once(':')
        .context("write NAME:TYPE, as in speed:float32, words:string_utf8[], or JSON")?;
    ensure!(
        !name.trim().is_empty(),
        r#"the name before ':' is empty in '{text}'; write NAME:TYPE, or for the unnamed attribute {{"name": "", "type": "{kind}"}}"#
    );
    let (kind, nullable) = kind.strip_suffix('?').map_or((kind, false), |k| (k, true));
    let (kind, cell) = match kind.strip_suffix(']').and_then(|k| k.split_once('[')) {
        None => {
            let datatype = Datatype::from_name(kind)?;
            (kind, datatype.default_cell())
        }
        Some((kind, "")) => (kind, CellCount::Var),
        Some((kind, n)) => (
            kind,
            CellCount::Fixed(
                n.parse()
                    .context("write a number of values between the brackets, as in [3]")?,
            ),
        ),
    };
    let mut attribute = Attribute::new(name, Datatype::from_name(kind)?, cell);
    attribute.nullable = nullable;
    attribute.filters = Pipeline::new(vec![Filter::Zstd { level: DEFAULT_LEVEL }]);
    Ok(attribute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_in_short() {
        let a = attribute("speed:float32[2]?").unwrap();
        assert_eq!(
            (a.name.as_str(), a.datatype, a.cell, a.nullable),
            ("speed", Datatype::Float32, CellCount::Fixed(2), true)
        );
        assert_eq!(attribute("words:string_utf8").unwrap().cell, CellCount::Var);
        assert!(attribute("speed").is_err() && attribute("speed:fast").is_err());
        let nameless = attribute(":int32").unwrap_err().to_string();
        let asked_for = attribute(nameless.split_once("unnamed attribute ").unwrap().1).unwrap();
        assert_eq!((asked_for.name.as_str(), asked_for.datatype), ("", Datatype::Int32));
    }
}
