//! `schema` and `create`.

use std::io::Read as _;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyperslab::schema::Enumeration;
use hyperslab::{Array, CreateOptions, schema_json};

use crate::args::{Create, Schema};
use crate::build::Building;
use crate::for_each_array::for_each;
use crate::store::{Env, Place, seed};
use crate::{show, time_args};

/// Prints the schemas.
pub(crate) async fn schema(env: &Env, args: &Schema) -> Result<()> {
    for_each(&args.arrays, async |url| {
        print(&env.open(url, time_args::window(args.at)?).await?, url).await
    })
    .await
}

/// Prints the schema of the array at `url`.
pub(crate) async fn print(array: &Array, url: &str) -> Result<()> {
    let enumerations = enumerations(array).await;
    let enumerations = enumerations.with_context(|| format!("cannot read the schema of {url}"))?;
    let json = schema_json::to_json(array.schema(), &enumerations);
    show::line(format_args!("{json:#}"))
}

/// The array's enumerations with their values.
pub(crate) async fn enumerations(array: &Array) -> Result<Vec<Enumeration>> {
    let mut all = Vec::new();
    for e in &array.schema().enumerations {
        all.push(Arc::unwrap_or_clone(array.enumeration(&e.name).await?));
    }
    Ok(all)
}

/// Creates an empty array.
pub(crate) async fn create(env: &Env, args: &Create) -> Result<()> {
    let name = args.schema.display().to_string();
    let mut text = String::new();
    let read = if name == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(&args.schema).map(|t| text = t)
    };
    read.with_context(|| format!("cannot read the schema in {name}"))?;
    let json =
        serde_json::from_str(&text).with_context(|| format!("cannot read the schema in {name}: it is not JSON"))?;
    let (schema, enumerations) =
        schema_json::from_json(&json).with_context(|| format!("cannot read the schema in {name}: it is not valid"))?;
    let place = Place::new(&args.array)?;
    let options = CreateOptions {
        timestamp_ms: time_args::or_now(args.timestamp)?,
        seed: seed()?,
        key: env.key.clone(),
    };
    let building = Building::start(&place).await?;
    let made = Array::create(
        &building.place().context,
        &building.place().path,
        &schema,
        &enumerations,
        &options,
    )
    .await;
    building
        .end(made.with_context(|| format!("cannot create {}", args.array)))
        .await
}
