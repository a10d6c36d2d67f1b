//! Makes the arrays and groups that a file of another format describes.

use anyhow::{Context as _, Result, ensure};
use hyperslab::group::{GroupChange, GroupMember, MemberKind, change_group, create_group, write_group_metadata};
use hyperslab::schema::Layout;
use hyperslab::vfs::{self, join};
use hyperslab::{Array, Cells, CreateOptions, Window, WriteOptions};
use hyperslab_formats::{Format, InputFile, Length, NewArray, NewGroup, Options, Plan, Source};

use super::boxes::{self, FileBox};
use super::preview::{self, bytes_of, bytes_per_cell};
use crate::args::Import;
use crate::batches::{Batched, Budget};
use crate::build::{Building, from_root};
use crate::errors::usage;
use crate::progress::Progress;
use crate::store::{Env, Place, seed};
use crate::{show, sizes, time_args};

/// The most bytes of an array before compression: no disk holds more.
const BYTES_MAX: u64 = 1 << 50;

/// Imports a file into a new array or group.
pub(super) async fn import(env: &Env, args: &Import, files: &[InputFile], format: Format) -> Result<()> {
    refuse_options_of_tables(args, format)?;
    let budget = Budget::new(args.memory);
    let options = Options {
        memory_bytes: budget.batch_bytes(),
        unpack: args.unpack,
    };
    let mut source = open_files(files, args.along.as_deref(), format, &options)?;
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
    let place = Place::new(args.array())?;
    refuse_inside_source(files, &place)?;
    let building = Building::start(&place).await?;
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

/// A file, or the files that are joined along an axis.
pub(crate) fn open_files(
    files: &[InputFile],
    along: Option<&str>,
    format: Format,
    options: &Options,
) -> Result<Box<dyn Source>> {
    let first = files.first().map_or("-", |file| &file.name);
    if files.iter().any(|file| file.name == "-") {
        let why = format!(
            "{} files cannot be read from standard input; save the input to a file first",
            format.title()
        );
        return Err(usage("IN", why));
    }
    let opened = match (along, files) {
        (None, [file]) => hyperslab_formats::open(&file.path, format, options),
        (Some(axis), files) => hyperslab_formats::open_along(files, format, axis, options),
        (None, _) => {
            let why = "several files are joined along an axis; name it, as in --along time";
            return Err(usage("IN", why));
        }
    };
    opened.with_context(|| format!("cannot read {first}"))
}

/// Returns an error if the new array would be inside a folder that is imported.
fn refuse_inside_source(files: &[InputFile], to: &Place) -> Result<()> {
    for file in files {
        let within = match (vfs::local_path(&file.name), to.local()) {
            (Some(from), Some(to)) if from.is_dir() => {
                let (_, from) = from_root(&from.canonicalize()?)?;
                from_root(to)?.1.starts_with(&format!("{from}/"))
            }
            (None, None) => vfs::path_within(&file.name, &to.url).is_some(),
            _ => false,
        };
        if within {
            let why = format!(
                "it is inside {}, which is imported; choose a path outside of it",
                file.name
            );
            return Err(usage("ARRAY", why));
        }
    }
    Ok(())
}

/// Files that say themselves what they hold take no options about columns.
fn refuse_options_of_tables(args: &Import, format: Format) -> Result<()> {
    let given = [
        ("--sparse", args.sparse),
        ("--dims", args.dims.is_some()),
        ("--domain", !args.domain.is_empty()),
        ("--attrs", args.attrs.is_some()),
        ("--types", !args.types.is_empty()),
        ("--separator", args.text.separator.is_some()),
        ("--decimal", args.text.decimal.is_some()),
        ("--date-order", args.text.date_order.is_some()),
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

    /// Writes a dense array as one fragment.
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
        let most = self.budget.batch_bytes() / 2 / bytes_per_cell(array.schema()).max(1);
        let file_box = FileBox {
            number,
            lengths,
            start: 0,
        };
        let writer = boxes::fill(array, source, &file_box, most, &self.options()?, progress).await?;
        writer.finish().await?;
        Ok(())
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

/// The path of an array, for messages.
pub(crate) fn shown(path: &str) -> &str {
    if path.is_empty() { "the array" } else { path }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use anyhow::bail;
    use hyperslab::schema::{ArrayType, Attribute, Dimension, Schema};
    use hyperslab::{CellCount, Column, Datatype};

    use super::*;

    type Columns = Vec<(String, Column)>;

    /// A file of 64 MiB whose first part cannot be read.
    struct Damaged {
        plan: Plan,
        panics: bool,
    }

    impl Source for Damaged {
        fn plan(&self) -> &Plan {
            &self.plan
        }

        fn read_box(&mut self, _: usize, _: &[Range<u64>]) -> Result<Columns> {
            assert!(!self.panics, "a bug of the reader");
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
        for (panics, why) in [(false, "chunk 0 is damaged"), (true, "the reader of the file failed")] {
            let name = if panics { "panics" } else { "fails" };
            let job = Job {
                env: &env,
                place: Place::new(&folder.path().join(name).to_string_lossy()).unwrap(),
                timestamp_ms: 1,
                budget: Budget::new(64 << 20),
            };
            let mut source = Damaged {
                plan: plan.clone(),
                panics,
            };
            let made = pollster::block_on(job.make(&plan, &mut source));
            assert!(format!("{:#}", made.unwrap_err()).contains(why));
        }
    }
}
