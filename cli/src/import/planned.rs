//! Makes the arrays and groups that a file of another format describes.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use hyperslab::group::{GroupChange, GroupMember, MemberKind, change_group, create_group, write_group_metadata};
use hyperslab::schema::{Layout, Schema};
use hyperslab::vfs::join;
use hyperslab::{Array, Cells, Column, CreateOptions, Scalar, ScalarRange, Window, WriteOptions};
use hyperslab_formats::{Format, Length, NewArray, NewGroup, Options, Plan, Source};

use super::parts::{Part, parts};
use super::preview::{self, bytes_of, bytes_per_cell};
use crate::args::Import;
use crate::batches::{Batched, Budget};
use crate::build::Building;
use crate::errors::usage;
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::{show, sizes, time_args};

/// The most bytes of an array before compression: no disk holds more.
const BYTES_MAX: u64 = 1 << 50;

/// Named columns, as the engine takes them.
type Columns = Vec<(String, Column)>;

/// Imports a file into a new array or group.
pub(super) async fn import(env: &Env, args: &Import, format: Format) -> Result<()> {
    refuse_options_of_tables(args, format)?;
    let budget = Budget::new(args.memory);
    let options = Options {
        memory_bytes: budget.batch_bytes(),
        unpack: args.unpack,
    };
    let mut source = opened(args, format, &options)?;
    let mut plan = source.plan().clone();
    if let Some(path) = &args.schema {
        preview::apply(&mut plan, preview::read(path)?)?;
    }
    if args.dry_run {
        return preview::print(&plan, args.json);
    }
    for array in &plan.arrays {
        let bytes = bytes_of(array);
        ensure!(
            bytes <= BYTES_MAX,
            "cannot import {}: '{}' has {} before compression by its header; the file is damaged, or nearly all of it is \
             empty",
            args.input(),
            shown(&array.path),
            sizes::show(bytes)
        );
    }
    for note in &plan.notes {
        show::note(format_args!("{note}"));
    }
    let building = Building::start(&Place::new(args.array())?).await?;
    let job = Job {
        env,
        place: building.place().clone(),
        timestamp_ms: time_args::or_now(args.timestamp)?,
        budget,
    };
    let made = job.make(&plan, source.as_mut()).await;
    building
        .end(made.with_context(|| format!("cannot import {} into {}", args.input(), args.array())))
        .await
}

/// The file, or the files that are joined along an axis.
fn opened(args: &Import, format: Format, options: &Options) -> Result<Box<dyn Source>> {
    if args.input() == "-" || (args.input().contains("://") && !format.is_remote()) {
        let why = format!(
            "{} files are read from the local disk only; save it to a file first",
            format.title()
        );
        return Err(usage("IN", why));
    }
    let files: Vec<PathBuf> = args.inputs().iter().map(PathBuf::from).collect();
    let opened = match (&args.along, files.as_slice()) {
        (Some(axis), files) => hyperslab_formats::open_along(files, format, axis, options),
        (None, [file]) => hyperslab_formats::open(file, format, options),
        (None, _) => {
            let why = "several files are joined along an axis; name it, as in --along time";
            return Err(usage("IN", why));
        }
    };
    opened.with_context(|| format!("cannot read {}", args.input()))
}

/// Files that say themselves what they hold take no options about columns.
fn refuse_options_of_tables(args: &Import, format: Format) -> Result<()> {
    let given = [
        ("--sparse", args.sparse),
        ("--dims", args.dims.is_some()),
        ("--domain", !args.domain.is_empty()),
        ("--attrs", args.attrs.is_some()),
        ("--types", !args.types.is_empty()),
        ("--separator", args.separator.is_some()),
        ("--unique", args.unique),
        ("--tile", args.tile.is_some()),
        ("--filters", args.filters.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(usage(
            option,
            format!(
                "{} files have a schema of their own; leave the option out, or edit the output of --dry-run --json and \
                 pass it with --schema",
                format.title()
            ),
        )),
        None => Ok(()),
    }
}

/// One import.
struct Job<'a> {
    env: &'a Env,
    place: Place,
    timestamp_ms: u64,
    budget: Budget,
}

impl Job<'_> {
    /// Makes the arrays, then the members of groups, then the metadata of groups, which say what they are.
    async fn make(&self, plan: &Plan, source: &mut dyn Source) -> Result<()> {
        let context = &self.place.context;
        for group in &plan.groups {
            create_group(context, &join(&self.place.path, &group.path)).await?;
        }
        let bytes = plan.arrays.iter().map(bytes_of).sum();
        let progress = Progress::new("importing", Some(bytes), "bytes");
        for (number, array) in plan.arrays.iter().enumerate() {
            let made = self.array(number, array, source, &progress).await;
            made.with_context(|| format!("cannot import '{}'", shown(&array.path)))?;
        }
        for group in plan.groups.iter().rev() {
            self.members(plan, group).await?;
            let path = join(&self.place.path, &group.path);
            let entries = &group.metadata;
            write_group_metadata(context, &path, entries, self.env.key.as_ref(), &self.options()?).await?;
        }
        Ok(())
    }

    async fn members(&self, plan: &Plan, group: &NewGroup) -> Result<()> {
        let groups = plan.groups.iter().map(|g| (&g.path, MemberKind::Group));
        let all = groups.chain(plan.arrays.iter().map(|a| (&a.path, MemberKind::Array)));
        let changes = all.filter_map(|(path, kind)| {
            let name = name_within(path, &group.path)?;
            Some(GroupChange::Add(GroupMember {
                kind,
                relative: true,
                uri: name.to_owned(),
                name: Some(name.to_owned()),
                deleted: false,
            }))
        });
        let changes: Vec<GroupChange> = changes.collect();
        if changes.is_empty() {
            return Ok(());
        }
        let path = join(&self.place.path, &group.path);
        let context = &self.place.context;
        change_group(context, &path, &changes, self.env.key.as_ref(), &self.options()?).await?;
        Ok(())
    }

    async fn array(&self, number: usize, new: &NewArray, source: &mut dyn Source, progress: &Progress) -> Result<()> {
        let place = match new.path.as_str() {
            "" => self.place.clone(),
            path => self.place.join(path),
        };
        let options = CreateOptions {
            timestamp_ms: self.timestamp_ms,
            seed: seed()?,
            key: self.env.key.clone(),
        };
        Array::create(&place.context, &place.path, &new.schema, &new.enumerations, &options).await?;
        let place = self.budget.within(&place);
        let array = self.env.open_at(&place, Window::ALL).await?;
        array.write_metadata(&new.metadata, &self.options()?).await?;
        match &new.length {
            Length::Box(lengths) => self.write_box(&array, number, lengths, source, progress).await,
            Length::Rows(_) => self.write_rows(&place, &array, number, source, progress).await,
        }
    }

    /// Writes a dense array as one fragment. A thread reads the next part while the last one is written.
    async fn write_box(
        &self,
        array: &Array,
        number: usize,
        lengths: &[u64],
        source: &mut dyn Source,
        progress: &Progress,
    ) -> Result<()> {
        if lengths.contains(&0) {
            return Ok(());
        }
        let schema = array.schema();
        let most = self.budget.batch_bytes() / 2 / bytes_per_cell(schema).max(1);
        let list = parts(lengths, &extents(schema), schema.tile_order == Layout::ColMajor, most);
        let whole: Part = lengths.iter().map(|n| 0..*n).collect();
        let mut writer = array.box_writer(region(schema, &whole)?, &self.options()?).await?;
        let (send, receive) = mpsc::sync_channel::<Result<Columns>>(0);
        let written = thread::scope(|scope| {
            let to_read = list.clone();
            scope.spawn(move || {
                for part in to_read {
                    // The receiver is gone if the write has failed.
                    if send.send(source.read_box(number, &part)).is_err() {
                        return;
                    }
                }
            });
            let written = pollster::block_on(async {
                for part in list {
                    let columns = receive
                        .recv()
                        .map_err(|_| anyhow!("the reader of the file stopped"))??;
                    progress.add(columns.iter().map(|(_, c)| c.data.len() as u64).sum());
                    writer.push(&region(schema, &part)?, columns).await?;
                }
                anyhow::Ok(())
            });
            // The thread would wait for its next part to be taken, and this scope for the thread.
            drop(receive);
            written
        });
        match written {
            Ok(()) => writer.finish().await.map(drop).map_err(Into::into),
            Err(error) => {
                writer.abandon().await;
                Err(error)
            }
        }
    }

    /// Writes a sparse array in batches, and merges them.
    async fn write_rows(
        &self,
        place: &Place,
        array: &Array,
        number: usize,
        source: &mut dyn Source,
        progress: &Progress,
    ) -> Result<()> {
        let most = self.budget.batch_bytes() / bytes_per_cell(array.schema()).max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let (mut fragments, mut rows) = (0, 0);
        while let Some(columns) = source.read_rows(number, most)? {
            progress.add(columns.iter().map(|(_, c)| c.data.len() as u64).sum());
            rows += columns.first().map_or(0, |(_, c)| c.len() as u64);
            let cells = Cells {
                region: None,
                layout: Layout::Unordered,
                columns,
            };
            array.write(cells, &self.options()?).await?;
            fragments += 1;
        }
        if fragments > 1 {
            let batched = Batched {
                env: self.env,
                place,
                timestamp_ms: self.timestamp_ms,
                budget: self.budget,
            };
            batched.merge(place, rows).await?;
        }
        Ok(())
    }

    fn options(&self) -> Result<WriteOptions> {
        Ok(WriteOptions {
            timestamp_ms: self.timestamp_ms,
            seed: seed()?,
            sync: true,
        })
    }
}

/// The last part of a path directly within a group.
fn name_within<'a>(path: &'a str, group: &str) -> Option<&'a str> {
    let rest = match group {
        "" => path,
        _ => path.strip_prefix(group)?.strip_prefix('/')?,
    };
    (!rest.is_empty() && !rest.contains('/')).then_some(rest)
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "the array" } else { path }
}

fn extents(schema: &Schema) -> Vec<u64> {
    schema
        .dimensions
        .iter()
        .map(|d| d.extent_cells().unwrap_or(1))
        .collect()
}

/// The coordinates of a part, which counts from the low end of each dimension.
fn region(schema: &Schema, part: &Part) -> Result<Vec<ScalarRange>> {
    let axes = schema.dimensions.iter().zip(part);
    let ranges = axes.map(|(dimension, range)| {
        let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
        let low = low.with_context(|| format!("the dimension '{}' has no integers", dimension.name))?;
        let at = |n: u64| {
            Scalar::from_i128(dimension.datatype, low + i128::from(n))
                .with_context(|| format!("the dimension '{}' is too short for the cells", dimension.name))
        };
        Ok(ScalarRange {
            lo: at(range.start)?,
            hi: at(range.end.saturating_sub(1))?,
        })
    });
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use anyhow::bail;
    use hyperslab::schema::{ArrayType, Attribute, Dimension};
    use hyperslab::{CellCount, Datatype};

    use super::*;

    /// A file of 64 MiB whose first part cannot be read.
    struct Damaged(Plan);

    impl Source for Damaged {
        fn plan(&self) -> &Plan {
            &self.0
        }

        fn read_box(&mut self, _: usize, _: &[Range<u64>]) -> Result<Columns> {
            bail!("chunk 0 is damaged")
        }

        fn read_rows(&mut self, _: usize, _: usize) -> Result<Option<Columns>> {
            Ok(None)
        }
    }

    /// There are more parts to read after the error.
    #[test]
    fn an_error_ends_the_import() {
        let folder = tempfile::tempdir().unwrap();
        let dimension = Dimension::new("x", Datatype::Uint64, 0_u64, (64_u64 << 20) - 1, 1_u64 << 16);
        let attribute = Attribute::new("a", Datatype::Uint8, CellCount::ONE);
        let array = NewArray {
            path: String::new(),
            schema: Schema::new(ArrayType::Dense, vec![dimension], vec![attribute]),
            enumerations: Vec::new(),
            metadata: Vec::new(),
            length: Length::Box(vec![64 << 20]),
        };
        let plan = Plan::single(array);
        let env = Env::new(None);
        let job = Job {
            env: &env,
            place: Place::new(&folder.path().join("a").to_string_lossy()).unwrap(),
            timestamp_ms: 1,
            budget: Budget::new(64 << 20),
        };
        let made = pollster::block_on(job.make(&plan, &mut Damaged(plan.clone())));
        assert!(format!("{:#}", made.unwrap_err()).contains("chunk 0 is damaged"));
    }
}
