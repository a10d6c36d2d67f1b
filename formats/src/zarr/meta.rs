//! The metadata of an array, of version 2 or 3.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::codec::{self, CHUNK_BYTES_MAX, Pipeline, Step};
use super::fill;
use super::types::Type;

/// What the metadata says.
#[derive(Debug, Clone)]
pub(super) struct Meta {
    pub(super) shape: Vec<u64>,
    /// The lengths of chunks, or of the chunks within shards.
    pub(super) chunk: Vec<u64>,
    pub(super) of: Type,
    /// The element of chunks that are missing.
    pub(super) fill: Vec<u8>,
    /// Whether the metadata gives that element.
    pub(super) has_fill: bool,
    pub(super) pipeline: Pipeline,
    pub(super) shards: Option<Shards>,
    pub(super) keys: Keys,
    /// The names of the axes, where they have names.
    pub(super) names: Vec<Option<String>>,
}

/// Files with many chunks.
#[derive(Debug, Clone)]
pub(super) struct Shards {
    /// How many chunks a shard has along each axis.
    pub(super) counts: Vec<u64>,
    pub(super) index: Vec<Step>,
    pub(super) index_at_start: bool,
}

/// The names of the files of chunks.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    has_folder: bool,
    separator: char,
}

impl Keys {
    /// The name of the file at a position of the grid.
    pub(super) fn name(&self, position: &[u64]) -> String {
        let mut parts: Vec<String> = position.iter().map(u64::to_string).collect();
        if self.has_folder {
            parts.insert(0, "c".to_owned());
        } else if parts.is_empty() {
            parts.push("0".to_owned());
        }
        parts.join(&self.separator.to_string())
    }

    fn separator(of: Option<&Value>, usual: char) -> Result<char> {
        match of.and_then(Value::as_str) {
            None => Ok(usual),
            Some("/") => Ok('/'),
            Some(".") => Ok('.'),
            Some(other) => bail!("the separator '{other}' of chunk keys is unknown"),
        }
    }
}

/// The most chunks of an array. Each is looked for in the store, even if it is missing.
const CHUNKS_MAX: u64 = 1 << 24;

impl Meta {
    pub(super) fn of_v2(value: &Value) -> Result<Self> {
        let shape = lengths(value.get("shape"), "shape")?;
        let chunk = lengths(value.get("chunks"), "chunks")?;
        let filters = value
            .get("filters")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let id = |codec: &Value| codec.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let ids: Vec<String> = filters.iter().map(id).collect();
        let of = Type::of_v2(value.get("dtype").context("it has no type")?, &ids)?;
        let mut steps = Vec::new();
        let compressor = value.get("compressor").filter(|c| !c.is_null());
        for codec in filters.iter().chain(compressor) {
            match id(codec).as_str() {
                "vlen-utf8" | "vlen-bytes" => {}
                name => steps.push(step(name, codec)?),
            }
        }
        let order = (value.get("order").and_then(Value::as_str) == Some("F")).then(|| (0..shape.len()).rev().collect());
        let given = value.get("fill_value").filter(|f| !f.is_null());
        Self {
            names: vec![None; shape.len()],
            fill: fill::of(given, of)?,
            has_fill: given.is_some(),
            pipeline: Pipeline {
                order,
                big_endian: of.big_endian,
                steps,
            },
            shards: None,
            keys: Keys {
                has_folder: false,
                separator: Keys::separator(value.get("dimension_separator"), '.')?,
            },
            shape,
            chunk,
            of,
        }
        .checked()
    }

    pub(super) fn of_v3(value: &Value) -> Result<Self> {
        let shape = lengths(value.get("shape"), "shape")?;
        let grid = value.get("chunk_grid").context("it has no chunk grid")?;
        ensure!(
            name(grid) == "regular",
            "the chunk grid '{}' is not supported",
            name(grid)
        );
        let chunk = lengths(configuration(grid).get("chunk_shape"), "chunk_shape")?;
        let of = Type::of_v3(value.get("data_type").context("it has no type")?)?;
        let encoding = value.get("chunk_key_encoding").unwrap_or(&Value::Null);
        let has_folder = name(encoding) != "v2";
        let usual = if has_folder { '/' } else { '.' };
        let transformers = value.get("storage_transformers").and_then(Value::as_array);
        ensure!(
            transformers.is_none_or(Vec::is_empty),
            "storage transformers are not supported"
        );
        let given = value.get("fill_value").filter(|f| !f.is_null());
        let codecs = value
            .get("codecs")
            .and_then(Value::as_array)
            .context("it has no codecs")?;
        let names = value.get("dimension_names").and_then(Value::as_array);
        let names = names.map(|n| n.iter().map(|n| n.as_str().map(str::to_owned)).collect());
        let mut meta = Self {
            names: names.unwrap_or_else(|| vec![None; shape.len()]),
            fill: fill::of(given, of)?,
            has_fill: given.is_some(),
            pipeline: Pipeline::default(),
            shards: None,
            keys: Keys {
                has_folder,
                separator: Keys::separator(configuration(encoding).get("separator"), usual)?,
            },
            shape,
            chunk,
            of,
        };
        match codecs.as_slice() {
            [sharding] if name(sharding) == "sharding_indexed" => meta.read_shards(configuration(sharding))?,
            codecs => meta.pipeline = pipeline(codecs, meta.shape.len())?,
        }
        meta.checked()
    }

    fn read_shards(&mut self, sharding: &Value) -> Result<()> {
        let inner = lengths(sharding.get("chunk_shape"), "chunk_shape")?;
        let fits = inner.len() == self.chunk.len()
            && self
                .chunk
                .iter()
                .zip(&inner)
                .all(|(outer, inner)| *inner > 0 && outer.is_multiple_of(*inner));
        ensure!(fits, "the chunks of a shard do not fill it");
        let list = |key: &str| {
            sharding
                .get(key)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        let index = pipeline(list("index_codecs"), 1)?;
        ensure!(
            !index.big_endian && index.order.is_none(),
            "the index of the shards has an unknown encoding"
        );
        self.pipeline = pipeline(list("codecs"), inner.len())?;
        self.shards = Some(Shards {
            counts: self
                .chunk
                .iter()
                .zip(&inner)
                .map(|(outer, inner)| outer / inner)
                .collect(),
            index: index.steps,
            index_at_start: sharding.get("index_location").and_then(Value::as_str) == Some("start"),
        });
        self.chunk = inner;
        Ok(())
    }

    /// Checks that a chunk can be held in memory, and that its chunks can be looked for in bearable time.
    fn checked(self) -> Result<Self> {
        ensure!(
            self.chunk.len() == self.shape.len() && self.names.len() == self.shape.len(),
            "its shape, chunks and names have different numbers of axes"
        );
        ensure!(self.chunk.iter().all(|n| *n > 0), "its chunks have an axis of length 0");
        let most = |counts: &[u64], bytes: usize| {
            let bytes = counts.iter().try_fold(bytes as u64, |n, length| n.checked_mul(*length));
            bytes.is_some_and(|n| n <= CHUNK_BYTES_MAX as u64)
        };
        ensure!(
            most(&self.chunk, self.of.bytes.max(1)),
            "its chunks have more than {CHUNK_BYTES_MAX} bytes; write it again with smaller ones"
        );
        let chunks = self.shape.iter().zip(&self.chunk).map(|(n, chunk)| n.div_ceil(*chunk));
        let chunks = chunks.fold(1, u64::saturating_mul);
        ensure!(
            chunks <= CHUNKS_MAX,
            "it has {chunks} chunks, more than {CHUNKS_MAX}; write it again with larger chunks"
        );
        if let Some(shards) = &self.shards {
            ensure!(most(&shards.counts, 16), "its shards have too many chunks");
        }
        Ok(self)
    }
}

/// The codecs of a chunk, of version 3.
fn pipeline(codecs: &[Value], axes: usize) -> Result<Pipeline> {
    let mut out = Pipeline::default();
    for codec in codecs {
        let configuration = configuration(codec);
        match name(codec) {
            "transpose" => {
                ensure!(out.order.is_none(), "two codecs 'transpose' are not supported");
                out.order = Some(codec::transpose(configuration, axes)?);
            }
            "bytes" | "endian" => out.big_endian = configuration.get("endian").and_then(Value::as_str) == Some("big"),
            "vlen-utf8" | "vlen-bytes" => {}
            other => out.steps.push(step(other, configuration)?),
        }
    }
    Ok(out)
}

fn step(name: &str, configuration: &Value) -> Result<Step> {
    let found = Step::new(name, configuration);
    found.with_context(|| format!("the codec '{name}' is not supported; write the array again with zstd"))
}

/// The name of a codec, grid or encoding, which may stand alone or beside a configuration.
fn name(of: &Value) -> &str {
    let named = || of.get("name").and_then(Value::as_str);
    of.as_str().or_else(named).unwrap_or_default()
}

fn configuration(of: &Value) -> &Value {
    of.get("configuration").unwrap_or(&Value::Null)
}

fn lengths(of: Option<&Value>, what: &str) -> Result<Vec<u64>> {
    let list = of
        .and_then(Value::as_array)
        .with_context(|| format!("it has no {what}"))?;
    let length = |n: &Value| n.as_u64().with_context(|| format!("its {what} has '{n}'"));
    list.iter().map(length).collect()
}
