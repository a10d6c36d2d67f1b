//! Changes that another program asks for: a mount, whose users write small files and commands.

use anyhow::{Context as _, Result, bail};
use hyperslab::internals::format::metadata::numpy_keys;
use hyperslab::maintain::{self, ConsolidateOptions, Mode};
use hyperslab::metadata::Entry;
use hyperslab::{Array, Context, CreateOptions, Datatype, Key, WriteOptions, schema_json};
use serde_json::Value;

use crate::put::{MEMORY_BYTES, renew_manifest};
use crate::store::seed;
use crate::{meta, time_args};

/// Creates an empty array at `path`, with a schema as JSON.
///
/// # Errors
/// The text is no schema, or the array cannot be created.
pub async fn create(context: &Context, path: &str, schema: &str, options: &CreateOptions) -> Result<()> {
    let json = serde_json::from_str(schema).context("the schema is not JSON")?;
    let (schema, enumerations) = schema_json::from_json(&json).context("the schema is not valid")?;
    Array::create(context, path, &schema, &enumerations, options).await?;
    Ok(())
}

/// The options for an array that is created now, encrypted with `key`.
///
/// # Errors
/// The system has no clock or no random numbers.
pub fn creation(key: Option<Key>) -> Result<CreateOptions> {
    Ok(CreateOptions {
        timestamp_ms: time_args::or_now(None)?,
        seed: seed()?,
        key,
    })
}

/// Sets the value of a metadata key. Numbers, dates and bytes keep the type of the key's value, and are written as the mount
/// shows them, such as `[1, 2]`, or separated by commas. Other values are strings, without the newline at the end of `text`.
///
/// # Errors
/// The text is no value of that type, or cannot be written.
pub async fn set_metadata(array: &Array, key: &str, text: &str) -> Result<()> {
    let all = array.metadata().await?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let datatype = all.get(key).map(|value| value.datatype);
    let value = match datatype.filter(|d| !d.is_string() && *d != Datatype::GeomWkt) {
        Some(datatype) => {
            let name = datatype.name();
            let why = || format!("the value of '{key}' has the type {name}; remove the file first to change the type");
            meta::parse(&listed(text), Some(name)).with_context(why)?
        }
        None => meta::parse(text, None)?,
    };
    // A numpy array of this key would reappear when the new value is removed.
    let mut entries: Vec<Entry> = meta::removals(&all, numpy_keys(key)).collect();
    let (key, value) = (key.to_owned(), Some(value));
    entries.push(Entry { key, value });
    write_metadata(array, &entries).await
}

/// A JSON value, or a list of them, as text separated by commas. Other texts stay as they are.
fn listed(text: &str) -> String {
    let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list.iter().map(one).collect::<Vec<_>>().join(","),
        Ok(Value::String(text)) => text,
        _ => text.to_owned(),
    }
}

/// Removes a metadata key.
///
/// # Errors
/// The key does not exist, or the change cannot be written.
pub async fn remove_metadata(array: &Array, key: &str) -> Result<()> {
    let all = array.metadata().await?;
    let [values, shape] = numpy_keys(key);
    let entries: Vec<Entry> = meta::removals(&all, [key.to_owned(), values, shape]).collect();
    if entries.is_empty() {
        bail!("there is no metadata key '{key}'");
    }
    write_metadata(array, &entries).await
}

async fn write_metadata(array: &Array, entries: &[Entry]) -> Result<()> {
    let timestamp_ms = time_args::of_change(None, async |now| array.metadata_time(now).await).await?;
    array.write_metadata(entries, &write_options(timestamp_ms)?).await?;
    renew_manifest(array).await
}

/// Merges files of this kind. Returns the names of the new ones.
///
/// # Errors
/// The array cannot be read or written.
pub async fn consolidate(array: &Array, mode: Mode) -> Result<Vec<String>> {
    let now = write_options(time_args::or_now(None)?)?;
    let mut options = ConsolidateOptions::new(mode);
    options.memory_bytes = MEMORY_BYTES;
    let done = maintain::consolidate(array, &options, &now).await?;
    renew_manifest(array).await?;
    Ok(done.written)
}

/// Removes files of this kind that were merged. Returns their paths in the array.
///
/// # Errors
/// The array cannot be read or written.
pub async fn vacuum(array: &Array, mode: Mode) -> Result<Vec<String>> {
    let now = write_options(time_args::or_now(None)?)?;
    let gone = maintain::vacuum(array, mode, false, &now).await?;
    renew_manifest(array).await?;
    Ok(gone)
}

fn write_options(timestamp_ms: u64) -> Result<WriteOptions> {
    Ok(WriteOptions {
        timestamp_ms,
        seed: seed()?,
        sync: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_the_mount_shows_them() {
        for (text, expect) in [
            ("[1, -2.5]", "1,-2.5"),
            ("[\n  true,\n  false\n]", "true,false"),
            ("\"2020-01-02\"", "2020-01-02"),
            ("[\"2020\", \"2021\"]", "2020,2021"),
            ("1, 2", "1, 2"),
            ("2020-01-02", "2020-01-02"),
            ("", ""),
        ] {
            assert_eq!(listed(text), expect);
        }
    }
}
