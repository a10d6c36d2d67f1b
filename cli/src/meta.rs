//! `meta`: keys and values of an array or a group.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use hyperslab::group::{Group, ObjectType, group_metadata_time, object_type, write_group_metadata};
use hyperslab::internals::format::metadata::numpy_keys;
use hyperslab::internals::suggest;
use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::vfs::redact;
use hyperslab::{Datatype, Window, WriteOptions};
use serde_json::{Value, json};

use crate::args::Meta;
use crate::errors::usage;
use crate::store::{Env, Place, seed};
use crate::time_args::{self, Moment};
use crate::{dry_run, show};

/// Runs the command.
pub(crate) async fn meta(env: &Env, command: &Meta) -> Result<()> {
    match command {
        Meta::Ls { array, json, at } => {
            let all = read(env, array, time_args::window(*at)?).await?;
            if *json {
                let json: serde_json::Map<_, _> = all.iter().map(|(k, v)| (k.clone(), entry_json(v))).collect();
                show::line(format_args!("{:#}", Value::from(json)))
            } else {
                let rows = all
                    .iter()
                    .map(|(k, v)| vec![k.clone(), v.datatype.name().to_owned(), show::shorten(&text(v), 80)]);
                show::table(&[], rows.collect())
            }
        }
        Meta::Get { array, key, json, at } => {
            let all = read(env, array, time_args::window(*at)?).await?;
            let known = || all.keys().collect::<Vec<_>>();
            let [values, _] = numpy_keys(key);
            let found = all.get(key).or_else(|| all.get(&values));
            let found = found.with_context(|| {
                let why = suggest::unknown("metadata key", key, &known());
                format!("cannot read {array}: {why}")
            })?;
            if *json {
                return show::line(format_args!("{:#}", entry_json(found)));
            }
            show::value(&text(found))
        }
        Meta::Set {
            array,
            key,
            value,
            datatype,
            timestamp,
            dry_run,
        } => {
            let value = Some(parse(value, datatype.as_deref())?);
            let mut entries = vec![Entry {
                key: key.clone(),
                value,
            }];
            // A numpy array of this key would reappear when the new value is removed.
            let all = read(env, array, Window::ALL).await?;
            entries.extend(removals(&all, numpy_keys(key)));
            write(env, array, &entries, *timestamp, *dry_run).await
        }
        Meta::Rm {
            array,
            key,
            timestamp,
            dry_run,
        } => {
            let all = read(env, array, Window::ALL).await?;
            let [values, shape] = numpy_keys(key);
            let entries: Vec<Entry> = removals(&all, [key.clone(), values, shape]).collect();
            if entries.is_empty() {
                bail!(
                    "cannot change {array}: there is no metadata key '{key}'; list the keys with `hyperslab meta ls {array}`"
                );
            }
            write(env, array, &entries, *timestamp, *dry_run).await?;
            if *dry_run {
                show::line(format_args!("{}: '{key}' would be removed", redact(array)))?;
            }
            Ok(())
        }
        // `Cli::read` has reordered the words.
        Meta::ArrayFirst(_) => Err(usage("meta", "give ls, get, set or rm, then the array")),
    }
}

/// Entries that remove these keys, if they exist.
pub(crate) fn removals(
    all: &BTreeMap<String, MetaValue>,
    keys: impl IntoIterator<Item = String>,
) -> impl Iterator<Item = Entry> {
    keys.into_iter()
        .filter(|key| all.contains_key(key))
        .map(|key| Entry { key, value: None })
}

async fn read(env: &Env, url: &str, window: Window) -> Result<BTreeMap<String, MetaValue>> {
    let place = Place::new(url)?;
    if object_type(&place.context, &place.path).await? == Some(ObjectType::Group) {
        let group = Group::open(&place.context, &place.path, &env.options(window))
            .await
            .with_context(|| format!("cannot open {url}"))?;
        return group
            .metadata()
            .await
            .with_context(|| format!("cannot read the metadata of {url}"));
    }
    let array = env.open_at(&place, window).await?;
    array
        .metadata()
        .await
        .with_context(|| format!("cannot read the metadata of {url}"))
}

async fn write(env: &Env, url: &str, entries: &[Entry], timestamp: Option<Moment>, dry_run: bool) -> Result<()> {
    let place = dry_run::place_to_change(env, url, dry_run)?;
    let (context, path) = (&place.context, &place.path);
    let failed = || format!("cannot write the metadata of {url}");
    let seed = seed()?;
    let options = |timestamp_ms| WriteOptions {
        timestamp_ms,
        seed,
        sync: true,
    };
    if object_type(context, path).await? == Some(ObjectType::Group) {
        let time = time_args::of_change(timestamp, async |now| group_metadata_time(context, path, now).await);
        let options = options(time.await.with_context(failed)?);
        let done = write_group_metadata(context, path, entries, env.key.as_ref(), &options).await;
        return done.with_context(failed);
    }
    let array = env.open_at(&place, Window::ALL).await?;
    let time = time_args::of_change(timestamp, async |now| array.metadata_time(now).await);
    let options = options(time.await.with_context(failed)?);
    array.write_metadata(entries, &options).await.with_context(failed)
}

fn entry_json(v: &MetaValue) -> Value {
    json!({"type": v.datatype.name(), "value": value(v)})
}

/// Parses a value: a string, or numbers and dates separated by commas.
pub(crate) fn parse(text: &str, datatype: Option<&str>) -> Result<MetaValue> {
    let Some(name) = datatype else {
        return Ok(MetaValue::text(text));
    };
    let datatype = Datatype::from_name(name).map_err(|e| usage("--type", e))?;
    if datatype == Datatype::StringAscii && !text.is_ascii() {
        return Err(usage(
            "VALUE",
            format!("'{text}' is not ASCII; give it --type string_utf8"),
        ));
    }
    if datatype.is_string() && datatype.size() == 1 || datatype == Datatype::GeomWkt {
        return Ok(MetaValue::bytes(datatype, text.as_bytes()));
    }
    if datatype.is_opaque() {
        let mut data = Vec::new();
        crate::input::hex(text.as_bytes(), &mut data).map_err(|e| usage("VALUE", format!("'{text}': {e}")))?;
        return Ok(MetaValue::bytes(datatype, &data));
    }
    if datatype.is_string() {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        let points = text.chars().flat_map(|c| u32::from(c).to_le_bytes());
        let data: Vec<u8> = if datatype.size() == 2 {
            units.collect()
        } else {
            points.collect()
        };
        return Ok(MetaValue::bytes(datatype, &data));
    }
    let mut data = Vec::new();
    let parts = text.split(',').map(str::trim);
    for part in parts.filter(|_| !text.trim().is_empty()) {
        crate::input::number(part, datatype, &mut data).map_err(|e| usage("VALUE", format!("'{part}': {e}")))?;
    }
    Ok(MetaValue::bytes(datatype, &data))
}

/// A value as text. Several values are separated by commas.
fn text(v: &MetaValue) -> String {
    match value(v) {
        Value::String(s) => s,
        Value::Array(list) => list
            .iter()
            .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(","),
        other => other.to_string(),
    }
}

/// A value as JSON: strings as text, opaque bytes as hex digits, several numbers as a list.
pub(crate) fn value(v: &MetaValue) -> Value {
    if v.datatype.is_string() || v.datatype == Datatype::GeomWkt {
        return Value::from(show::string(v.datatype, &v.data));
    }
    if v.datatype.is_opaque() {
        return Value::from(show::hex(&v.data));
    }
    let mut list: Vec<Value> = v
        .data
        .chunks_exact(v.datatype.size())
        .map(|one| show::json(v.datatype, one))
        .collect();
    if list.len() == 1 {
        list.remove(0)
    } else {
        Value::from(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip() {
        for (given, datatype, expect) in [
            ("hello, you", None, "hello, you"),
            ("1,-2, 3", Some("int16"), "1,-2,3"),
            ("0.5", Some("float32"), "0.5"),
            ("2020-02-03", Some("datetime_day"), "2020-02-03"),
            ("née", Some("string_utf16"), "née"),
            ("true,false", Some("bool"), "true,false"),
            ("", Some("int32"), ""),
            ("00ff", Some("blob"), "00ff"),
        ] {
            assert_eq!(text(&parse(given, datatype).unwrap()), expect);
        }
        assert!(parse("300", Some("uint8")).is_err());
        assert!(parse("1,,2", Some("int32")).is_err());
        assert!(parse("words", Some("blob")).is_err());
        let error = parse("née", Some("string_ascii")).unwrap_err().to_string();
        assert!(error.contains("--type string_utf8"), "{error}");
    }
}
