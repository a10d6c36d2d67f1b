//! Converts filters to and from JSON, and parses the short form `byteshuffle,zstd:5`.

use serde_json::{Map, Value, json};

use super::name_of;
use super::read::{Entry, choice};
use super::value::{hex, hex_from_json};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::format::pipeline::{DEFAULT_LEVEL, Filter, MaxChunk, Pipeline, WebpFormat};

const FORMATS: &[(&str, WebpFormat)] = &[
    ("rgb", WebpFormat::Rgb),
    ("bgr", WebpFormat::Bgr),
    ("rgba", WebpFormat::Rgba),
    ("bgra", WebpFormat::Bgra),
];

/// All filters that can be named, with default options.
fn defaults() -> Vec<Filter> {
    let level = DEFAULT_LEVEL;
    vec![
        Filter::None,
        Filter::Gzip { level },
        Filter::Zstd { level },
        Filter::Lz4 { level },
        Filter::Rle { level },
        Filter::Bzip2 { level },
        Filter::DoubleDelta {
            level,
            reinterpret: None,
        },
        Filter::BitWidthReduction { max_window: 256 },
        Filter::Bitshuffle,
        Filter::Byteshuffle,
        Filter::PositiveDelta { max_window: 1024 },
        Filter::Md5,
        Filter::Sha256,
        Filter::Dictionary { level },
        Filter::FloatScale {
            scale: 1.0,
            offset: 0.0,
            byte_width: 8,
        },
        Filter::Xor,
        Filter::Webp {
            quality: 100.0,
            format: WebpFormat::Rgb,
            lossless: true,
            y_extent: 0,
            x_extent: 0,
        },
        Filter::Delta {
            level,
            reinterpret: None,
        },
    ]
}

/// The filter with this name, with default options.
fn named(name: &str) -> Result<Filter> {
    let wanted = name.trim().to_ascii_lowercase().replace('_', "-");
    let all = defaults();
    let known: Vec<_> = all.iter().map(Filter::name).collect();
    let known = known.join(", ");
    let found = all.into_iter().find(|f| f.name() == wanted);
    found.ok_or_else(|| Error::invalid(format!("there is no filter '{name}'; the filters are {known}")))
}

/// Parses a list of filters such as `byteshuffle,zstd:5`. After the colon:
/// * compressors: the level
/// * `bit-width-reduction` and `positive-delta`: the window in bytes
/// * `delta` and `double-delta`: the datatype that values are interpreted as
/// * `float-scale`: `scale:offset:bytes`
///
/// # Errors
/// [`crate::Error::InvalidArgument`] names the invalid filter and lists the valid ones.
pub fn parse_filters(text: &str) -> Result<Pipeline> {
    let named = text.split(',').map(str::trim).filter(|f| !f.is_empty());
    Ok(Pipeline::new(named.map(parse_one).collect::<Result<_>>()?))
}

fn parse_one(text: &str) -> Result<Filter> {
    let mut parts = text.split(':');
    let mut filter = named(parts.next().unwrap_or(""))?;
    if matches!(filter, Filter::FloatScale { .. }) && !text.contains(':') {
        let why = "float-scale rounds to multiples of its scale; give the scale, the offset and the number of bytes, as in float-scale:0.01:0:4";
        return Err(Error::invalid(why));
    }
    let mut wrong = None;
    let mut take = |slot: &mut dyn FnMut(&str) -> bool| {
        if let Some(part) = parts.next().filter(|part| !slot(part)) {
            wrong = Some(part);
        }
    };
    let accepted = match &mut filter {
        // JSON may contain levels that are too high, from existing schemas. In the short form they are mistakes.
        Filter::Gzip { level } | Filter::Bzip2 { level } => {
            take(&mut |s| store(level, s) && *level <= 9);
            "its level is a whole number up to 9"
        }
        Filter::Zstd { level } => {
            take(&mut |s| store(level, s) && *level <= 22);
            "its level is a whole number up to 22"
        }
        Filter::Lz4 { level } | Filter::Rle { level } | Filter::Dictionary { level } => {
            take(&mut |s| store(level, s));
            "its level is a whole number"
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            take(&mut |s| store(max_window, s));
            "it takes the window in bytes, as in :256"
        }
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => {
            take(&mut |s| {
                *reinterpret = Datatype::from_name(s).ok();
                reinterpret.is_some()
            });
            "it takes a datatype, as in :int64"
        }
        Filter::FloatScale {
            scale,
            offset,
            byte_width,
        } => {
            take(&mut |s| store(scale, s));
            take(&mut |s| store(offset, s));
            take(&mut |s| store(byte_width, s));
            "it takes the scale, the offset and the number of bytes, as in :0.01:0:4"
        }
        Filter::None
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::Aes256Gcm
        | Filter::Md5
        | Filter::Sha256
        | Filter::Xor
        | Filter::Webp { .. }
        | Filter::Unknown { .. } => "it has no options",
    };
    match wrong.or(parts.next()) {
        Some(part) => Err(Error::invalid(format!(
            "filter '{text}': the {} filter does not accept '{part}'; {accepted}",
            filter.name()
        ))),
        None => Ok(filter),
    }
}

fn store<T: std::str::FromStr>(slot: &mut T, text: &str) -> bool {
    text.parse().map(|value| *slot = value).is_ok()
}

/// A list of filters, or an object with the chunk size if that is not the default.
pub(super) fn to_json(pipeline: &Pipeline) -> Value {
    let filters: Value = pipeline.filters.iter().map(filter_to_json).collect();
    if pipeline.max_chunk_bytes == MaxChunk::default() {
        return filters;
    }
    json!({ "max_chunk_bytes": pipeline.max_chunk_bytes.0, "filters": filters })
}

fn filter_to_json(filter: &Filter) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), json!(filter.name()));
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    match filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => {
            if *level != DEFAULT_LEVEL {
                put("level", json!(level));
            }
        }
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            if *level != DEFAULT_LEVEL {
                put("level", json!(level));
            }
            if let Some(t) = reinterpret {
                put("reinterpret", json!(t.name()));
            }
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            put("max_window", json!(max_window))
        }
        Filter::FloatScale {
            scale,
            offset,
            byte_width,
        } => {
            put("scale", float_to_json(*scale));
            put("offset", float_to_json(*offset));
            put("byte_width", json!(byte_width));
        }
        Filter::Webp {
            quality,
            format,
            lossless,
            y_extent,
            x_extent,
        } => {
            put("quality", float_to_json(f64::from(*quality)));
            put("format", json!(name_of(FORMATS, *format)));
            put("lossless", json!(lossless));
            put("y_extent", json!(y_extent));
            put("x_extent", json!(x_extent));
        }
        Filter::Unknown { id, options } => {
            put("id", json!(id));
            put("options", json!(hex(options)));
        }
        Filter::None
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::Aes256Gcm
        | Filter::Md5
        | Filter::Sha256
        | Filter::Xor => {}
    }
    Value::Object(out)
}

fn float_to_json(v: f64) -> Value {
    super::value::number_to_json(&crate::scalar::Scalar::F64(v), Datatype::Float64)
}

/// Parses a list of filters, a string in the short form, or an object with the chunk size.
pub(super) fn from_json(entry: &Entry<'_>) -> Result<Pipeline> {
    if let Some(text) = entry.value.as_str() {
        return parse_filters(text).map_err(|e| entry.because(e));
    }
    let (list, max_chunk_bytes) = if entry.value.is_object() {
        entry.known(&["max_chunk_bytes", "filters"])?;
        let bytes = entry.need("max_chunk_bytes")?;
        let bytes = u32::try_from(bytes.u64()?).map_err(|_| bytes.wrong("a number of bytes below 2^32"))?;
        (entry.need("filters")?.items()?, MaxChunk(bytes))
    } else {
        (entry.items()?, MaxChunk::default())
    };
    Ok(Pipeline {
        max_chunk_bytes,
        filters: list.iter().map(filter_from_json).collect::<Result<_>>()?,
    })
}

fn filter_from_json(entry: &Entry<'_>) -> Result<Filter> {
    if let Some(text) = entry.value.as_str() {
        return parse_one(text).map_err(|e| entry.because(e));
    }
    let name = entry.need("name")?;
    let name_text = name.str()?;
    if name_text == "unknown" {
        entry.known(&["name", "id", "options"])?;
        let id = entry.need("id")?;
        let number = u8::try_from(id.u64()?).map_err(|_| id.wrong("the number of a filter"))?;
        return Ok(Filter::Unknown {
            id: number,
            options: hex_from_json(&entry.need("options")?)?,
        });
    }
    let mut filter = named(name_text).map_err(|e| name.because(e))?;
    match &mut filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => {
            entry.known(&["name", "level"])?;
            read_level(entry, level)?;
        }
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            entry.known(&["name", "level", "reinterpret"])?;
            read_level(entry, level)?;
            if let Some(e) = entry.get("reinterpret") {
                *reinterpret = Some(Datatype::from_name(e.str()?).map_err(|why| e.because(why))?);
            }
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            entry.known(&["name", "max_window"])?;
            read_integer(entry, "max_window", max_window)?;
        }
        Filter::FloatScale {
            scale,
            offset,
            byte_width,
        } => {
            entry.known(&["name", "scale", "offset", "byte_width"])?;
            *scale = read_float(entry, "scale", *scale)?;
            *offset = read_float(entry, "offset", *offset)?;
            read_integer(entry, "byte_width", byte_width)?;
        }
        Filter::Webp {
            quality,
            format,
            lossless,
            y_extent,
            x_extent,
        } => {
            entry.known(&["name", "quality", "format", "lossless", "y_extent", "x_extent"])?;
            *quality = read_float(entry, "quality", f64::from(*quality))? as f32;
            *format = entry.get("format").map_or(Ok(*format), |e| choice(&e, FORMATS))?;
            *lossless = if entry.get("lossless").is_some() {
                entry.bool("lossless")?
            } else {
                *lossless
            };
            read_integer(entry, "y_extent", y_extent)?;
            read_integer(entry, "x_extent", x_extent)?;
        }
        Filter::None
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::Aes256Gcm
        | Filter::Md5
        | Filter::Sha256
        | Filter::Xor
        | Filter::Unknown { .. } => entry.known(&["name"])?,
    }
    Ok(filter)
}

fn read_level(entry: &Entry<'_>, level: &mut i32) -> Result<()> {
    if let Some(e) = entry.get("level") {
        let value = e.value.as_i64().and_then(|v| i32::try_from(v).ok());
        *level = value.ok_or_else(|| e.wrong("a whole number, or -1 for the default"))?;
    }
    Ok(())
}

fn read_integer<T: TryFrom<u64>>(entry: &Entry<'_>, key: &str, slot: &mut T) -> Result<()> {
    if let Some(e) = entry.get(key) {
        *slot = T::try_from(e.u64()?).map_err(|_| e.wrong("a smaller number"))?;
    }
    Ok(())
}

fn read_float(entry: &Entry<'_>, key: &str, default: f64) -> Result<f64> {
    entry.get(key).map_or(Ok(default), |e| e.f64())
}
