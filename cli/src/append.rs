//! `append`: adds the cells of the next files along the first axis of what an import made.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::metadata::Entry;
use hyperslab::schema::Schema;
use hyperslab::vfs::redact;
use hyperslab::{Array, Query, Region, Scalar, ScalarRange, SealedFragment, Window, WriteOptions, commit_together};
use hyperslab_formats::{Length, NewArray, Options, Plan, Source, check_next};
use serde_json::json;

use crate::args::Append;
use crate::batches::Budget;
use crate::download::Inputs;
use crate::errors::usage;
use crate::formats::ImportFormat;
use crate::import::boxes::{self, FileBox};
use crate::import::format_of;
use crate::import::planned::{open_files, shown};
use crate::import::preview::{bytes_of, bytes_per_cell};
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::{show, signals, sizes, time_args};

/// The most bytes of values along other axes that are compared.
const COMPARED_BYTES_MAX: u64 = 64 << 20;

/// Runs the command.
pub(crate) async fn append(env: &Env, args: &Append) -> Result<()> {
    let Some((array, inputs)) = args.paths.split_last().filter(|(_, inputs)| !inputs.is_empty()) else {
        return Err(usage("ARRAY", "it is missing; give the input files and then the array"));
    };
    let first = inputs.first().map_or("-", String::as_str);
    let files = Inputs::fetch(inputs, args.format).await?;
    let Some(ImportFormat::File(format)) = format_of(args.format, &files.first())? else {
        let why = "tables and numpy arrays are added with `hyperslab write`";
        return Err(usage("IN", why));
    };
    let budget = Budget::new(args.memory);
    let options = Options {
        memory_bytes: budget.batch_bytes(),
        unpack: args.unpack,
    };
    let place = Place::new(array)?;
    let along = args.along.as_deref();
    // The axis of a single file may follow from the room that there is.
    let join = along.filter(|_| inputs.len() > 1);
    let mut source = open_files(files.files(), join, format, &options)?;
    let what = || format!("cannot append {first} to {array}");
    env.will_change(&place);
    let (context, transaction) = place.context.begin();
    signals::begin(&transaction);
    let place = budget.within(&Place { context, ..place });
    let target = Target::open(env, &place, source.plan()).await.with_context(what)?;
    let axis = match along {
        Some(axis) => axis.to_owned(),
        None => target.axis()?,
    };
    let has_axis = check_next(&target.plan, source.plan(), &axis).with_context(what)?;
    target.check(source.as_mut(), &has_axis).await.with_context(what)?;
    let timestamp_ms = time_args::or_now(args.timestamp)?;
    let fragments = target.write(source.as_mut(), &has_axis, timestamp_ms, budget).await;
    let fragments = fragments.with_context(what)?;
    if args.json {
        return show::line(format_args!(
            "{:#}",
            json!({"array": redact(array), "fragments": fragments})
        ));
    }
    fragments.iter().try_for_each(show::line)
}

/// The stored arrays that a file continues.
struct Target {
    arrays: Vec<Array>,
    /// Their schemas and metadata, as a plan. Its lengths count the written cells.
    plan: Plan,
}

impl Target {
    /// Opens the arrays with the paths of `next`.
    async fn open(env: &Env, place: &Place, next: &Plan) -> Result<Self> {
        let (mut arrays, mut plan) = (Vec::new(), Plan::default());
        for new in &next.arrays {
            let place = match new.path.as_str() {
                "" => place.clone(),
                path => place.join(path),
            };
            let opened = env.open_at(&place, Window::ALL).await;
            let array = opened.with_context(|| format!("the file has '{}'", shown(&new.path)))?;
            let metadata = array.metadata().await?.into_iter();
            let metadata = metadata.map(|(key, value)| Entry {
                key,
                value: Some(value),
            });
            plan.arrays.push(NewArray {
                path: new.path.clone(),
                schema: array.schema().as_ref().clone(),
                enumerations: Vec::new(),
                metadata: metadata.collect(),
                length: Length::Box(written(&array, new)?),
            });
            arrays.push(array);
        }
        Ok(Self { arrays, plan })
    }

    /// The only first axis along which there is room.
    fn axis(&self) -> Result<String> {
        let mut axes: Vec<&str> = Vec::new();
        for array in &self.plan.arrays {
            let Some(dimension) = array.schema.dimensions.first() else {
                continue;
            };
            if room(array) > 0 && !axes.contains(&dimension.name.as_str()) {
                axes.push(&dimension.name);
            }
        }
        match axes.as_slice() {
            [axis] => Ok((*axis).to_owned()),
            [] => bail!("no array has room along its first axis; {MAKE_ROOM}"),
            several => Err(usage(
                "--along",
                format!(
                    "several axes have room: {}; name one, as in --along {}",
                    several.join(", "),
                    several[0]
                ),
            )),
        }
    }

    /// Checks that there is room for all cells, and that arrays without the axis hold the same as the file.
    async fn check(&self, source: &mut dyn Source, has_axis: &[bool]) -> Result<()> {
        for (number, (stored, has)) in self.plan.arrays.iter().zip(has_axis).enumerate() {
            let Some(next) = source.plan().arrays.get(number) else {
                continue;
            };
            let lengths = lengths(next).to_vec();
            let (name, wanted) = (shown(&stored.path), lengths.first().copied().unwrap_or(0));
            if *has {
                ensure!(
                    wanted <= room(stored),
                    "'{name}' has room for {} more cells along its first axis, and the file has {wanted}; {MAKE_ROOM}",
                    room(stored)
                );
                continue;
            }
            if lengths.is_empty() || lengths.contains(&0) {
                continue;
            }
            if bytes_of(next) > COMPARED_BYTES_MAX {
                show::note(format_args!(
                    "'{name}' was not compared with the array, because it is larger than {}",
                    sizes::show(COMPARED_BYTES_MAX)
                ));
                continue;
            }
            let ranges: Vec<_> = lengths.iter().map(|n| 0..*n).collect();
            let of_file = source.read_box(number, &ranges)?;
            let Some(array) = self.arrays.get(number) else { continue };
            let query = Query {
                fields: Some(of_file.iter().map(|(name, _)| name.clone()).collect()),
                region: Region::from_box(region(array.schema(), &lengths)?),
                ..Query::default()
            };
            ensure!(
                array.read(&query).await?.columns == of_file,
                "'{name}' holds other values in the file; only files with the same values along their other axes can be \
                 appended"
            );
        }
        Ok(())
    }

    /// Writes all arrays with the axis, and commits them together at the end. Returns the names of their fragments.
    async fn write(
        &self,
        source: &mut dyn Source,
        has_axis: &[bool],
        timestamp_ms: u64,
        budget: Budget,
    ) -> Result<Vec<String>> {
        let next = source.plan().arrays.clone();
        let chosen = || {
            next.iter()
                .enumerate()
                .zip(has_axis)
                .filter(|(_, has)| **has)
                .map(|(n, _)| n)
        };
        let progress = Progress::new("appending", Some(chosen().map(|(_, new)| bytes_of(new)).sum()), "bytes");
        let mut written: Vec<SealedFragment> = Vec::new();
        for (number, new) in chosen() {
            let (Some(array), Some(stored)) = (self.arrays.get(number), self.plan.arrays.get(number)) else {
                continue;
            };
            let lengths = lengths(new);
            if lengths.contains(&0) {
                continue;
            }
            let file_box = FileBox {
                number,
                lengths,
                start: length(stored),
            };
            let most = budget.batch_bytes() / 2 / bytes_per_cell(array.schema()).max(1);
            let options = WriteOptions {
                timestamp_ms,
                seed: seed()?,
                sync: true,
            };
            let sealed = match boxes::fill(array, source, &file_box, most, &options, &progress).await {
                Ok(writer) => writer.seal().await.map_err(Into::into),
                Err(error) => Err(error),
            };
            match sealed.with_context(|| format!("cannot append to '{}'", shown(&new.path))) {
                Ok(fragment) => written.push(fragment),
                Err(error) => {
                    for fragment in written {
                        fragment.abandon().await;
                    }
                    return Err(error);
                }
            }
        }
        Ok(commit_together(written).await?)
    }
}

const MAKE_ROOM: &str = "a domain never changes: import all files at once with --along, or import the first one with a larger \
    domain in its schema (--dry-run --json prints it, and --schema takes it back)";

fn lengths(array: &NewArray) -> &[u64] {
    match &array.length {
        Length::Box(lengths) => lengths,
        Length::Rows(_) => &[],
    }
}

/// The length of the first axis.
fn length(array: &NewArray) -> u64 {
    lengths(array).first().copied().unwrap_or(0)
}

/// How many cells are free along the first axis.
fn room(array: &NewArray) -> u64 {
    let domain = array.schema.dimensions.first().and_then(|d| d.domain.as_ref());
    let cells = domain.and_then(show::length).and_then(|n| u64::try_from(n).ok());
    cells.unwrap_or(0).saturating_sub(length(array))
}

/// The lengths of the axes as far as cells were written. Along the other axes, what the file has is enough.
fn written(array: &Array, new: &NewArray) -> Result<Vec<u64>> {
    let schema = array.schema();
    ensure!(
        schema.is_dense(),
        "'{}' is sparse; add points with `hyperslab write`",
        shown(&new.path)
    );
    let Some(domain) = array.non_empty_domain() else {
        let mut lengths = lengths(new).to_vec();
        lengths.iter_mut().take(1).for_each(|n| *n = 0);
        return Ok(lengths);
    };
    let axes = schema.dimensions.iter().zip(&domain);
    let lengths = axes.map(|(dimension, range)| {
        let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
        let length = low.zip(range.hi.as_i128()).map(|(low, high)| high - low + 1);
        let length = length.and_then(|n| u64::try_from(n).ok());
        length.with_context(|| format!("the dimension '{}' has no integers", dimension.name))
    });
    lengths.collect()
}

/// The box of these lengths at the low ends of the dimensions.
fn region(schema: &Schema, lengths: &[u64]) -> Result<Vec<ScalarRange>> {
    let axes = schema.dimensions.iter().zip(lengths);
    let ranges = axes.map(|(dimension, length)| {
        let domain = dimension.domain.as_ref().context("a dimension has no domain")?;
        let high = domain.lo.as_i128().map(|low| low + i128::from(*length) - 1);
        let high = high.and_then(|high| Scalar::from_i128(dimension.datatype, high));
        Ok(ScalarRange {
            lo: domain.lo.clone(),
            hi: high.with_context(|| format!("the dimension '{}' has no integers", dimension.name))?,
        })
    });
    ranges.collect()
}
