//! Several files as one, along an axis: the days of a year, the scenes of a season.

use std::ops::Range;

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::metadata::Entry;
use hyperslab::schema::Schema;
use hyperslab::{Column, Scalar};

use crate::{Format, InputFile, Length, NewArray, Options, Plan, Source, open};

/// Attributes of variables that must be the same in all files, because the cells mean something else otherwise.
const MEANING: [&str; 4] = [".units", ".calendar", ".scale_factor", ".add_offset"];

/// Files whose arrays follow each other along an axis.
struct Joined {
    plan: Plan,
    files: Vec<InputFile>,
    /// The first position of each file along the axis, and the end of the last one.
    starts: Vec<u64>,
    /// For each array, whether it has the axis.
    has_axis: Vec<bool>,
    format: Format,
    options: Options,
    /// The file that was read last, because there may be more files than can be open.
    current: Option<(usize, Box<dyn Source>)>,
}

/// Opens several files of one format as one: their arrays follow each other along `axis`. Arrays without that axis,
/// and all metadata, come from the first file.
///
/// # Errors
/// The axis is unknown, or not the first one of its arrays; the arrays of the files differ in fields, types, shapes or
/// units; errors of [`open`].
pub fn open_along(files: &[InputFile], format: Format, axis: &str, options: &Options) -> Result<Box<dyn Source>> {
    let (first, others) = files.split_first().context("there are no files to import")?;
    let mut source = open(&first.path, format, options)?;
    let mut plan = source.plan().clone();
    let has_axis = along(&plan, axis)?;
    let mut starts = vec![0, length(&plan, &has_axis)];
    for file in others {
        let what = || format!("cannot put {} after {}", file.name, first.name);
        let mut next = open(&file.path, format, options).with_context(what)?;
        same(&plan, next.plan(), &has_axis).with_context(what)?;
        let differing = differing(source.as_mut(), next.as_mut(), &has_axis, options).with_context(what)?;
        plan.notes.extend(
            differing
                .into_iter()
                .filter(|note| !plan.notes.contains(note))
                .collect::<Vec<_>>(),
        );
        for note in &next.plan().notes {
            if !plan.notes.contains(note) {
                plan.notes.push(note.clone());
            }
        }
        let end = starts.last().copied().unwrap_or(0);
        starts.push(end.saturating_add(length(next.plan(), &has_axis)));
    }
    let total = starts.last().copied().unwrap_or(0);
    for (array, _) in plan.arrays.iter_mut().zip(&has_axis).filter(|(_, has)| **has) {
        lengthen(array, total)?;
    }
    plan.notes.retain(|note| !note.contains("is unlimited"));
    Ok(Box::new(Joined {
        plan,
        files: files.to_vec(),
        starts,
        has_axis,
        format,
        options: options.clone(),
        current: Some((0, source)),
    }))
}

/// Checks that the arrays of another file continue `stored` ones along `axis`. Returns which arrays have the axis.
///
/// # Errors
/// The axis is unknown, or not the first one of its arrays; the arrays differ in fields, types, shapes or units.
pub fn check_next(stored: &Plan, next: &Plan, axis: &str) -> Result<Vec<bool>> {
    let has_axis = along(next, axis)?;
    same(stored, next, &has_axis)?;
    Ok(has_axis)
}

/// For each array, whether its first axis has this name.
fn along(plan: &Plan, axis: &str) -> Result<Vec<bool>> {
    let names = |array: &NewArray| {
        array
            .schema
            .dimensions
            .iter()
            .map(|d| d.name.clone())
            .collect::<Vec<_>>()
    };
    let mut has = Vec::new();
    for array in &plan.arrays {
        let at = names(array).iter().position(|name| name == axis);
        ensure!(
            at.is_none_or(|at| at == 0),
            "'{axis}' is not the first axis of '{}', but files can only be joined along the first one",
            array.path
        );
        has.push(at.is_some() && matches!(array.length, Length::Box(_)));
    }
    if !has.contains(&true) {
        let mut known: Vec<String> = plan.arrays.iter().filter_map(|a| names(a).into_iter().next()).collect();
        known.sort_unstable();
        known.dedup();
        bail!(
            "no array has the axis '{axis}'; the first axes are {}",
            known.join(", ")
        );
    }
    Ok(has)
}

/// The length of the axis in a file.
fn length(plan: &Plan, has_axis: &[bool]) -> u64 {
    let mut arrays = plan.arrays.iter().zip(has_axis).filter(|(_, has)| **has);
    arrays
        .next()
        .map_or(0, |(array, _)| lengths(array).first().copied().unwrap_or(0))
}

fn lengths(array: &NewArray) -> &[u64] {
    match &array.length {
        Length::Box(lengths) => lengths,
        Length::Rows(_) => &[],
    }
}

/// Checks that the arrays of another file continue those of the first one.
fn same(first: &Plan, other: &Plan, has_axis: &[bool]) -> Result<()> {
    let expected = length(other, has_axis);
    let more = other
        .arrays
        .iter()
        .find(|a| !first.arrays.iter().any(|b| b.path == a.path));
    if let Some(more) = more {
        bail!("it has an array '{}', which the first file lacks", more.path);
    }
    for (number, (array, has)) in first.arrays.iter().zip(has_axis).enumerate() {
        let path = &array.path;
        let found = other.arrays.get(number).filter(|a| a.path == *path);
        let found = found.with_context(|| format!("it has no array '{path}', or its arrays are in another order"))?;
        if !has {
            continue;
        }
        let (mine, theirs) = (lengths(array), lengths(found));
        ensure!(
            mine.get(1..) == theirs.get(1..) && theirs.first() == Some(&expected),
            "'{path}' has the shape {theirs:?}, and {mine:?} in the first file"
        );
        ensure!(
            fields(&array.schema) == fields(&found.schema),
            "'{path}' has other fields or types than in the first file"
        );
        if let Some(key) = differs(&array.metadata, &found.metadata) {
            bail!("{key} is not the same as in the first file; convert both files to the same units first");
        }
    }
    Ok(())
}

/// Compares the arrays without the axis, such as latitudes. Returns notes about those that may differ.
///
/// # Errors
/// The values along another axis differ, so the cells of the files are not at the same places.
fn differing(
    first: &mut dyn Source,
    other: &mut dyn Source,
    has_axis: &[bool],
    options: &Options,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for number in (0..has_axis.len()).filter(|n| !has_axis[*n]) {
        let (Some(mine), Some(theirs)) = (first.plan().arrays.get(number), other.plan().arrays.get(number)) else {
            continue;
        };
        let (path, shape) = (mine.path.clone(), lengths(mine).to_vec());
        let same_kind = fields(&mine.schema) == fields(&theirs.schema) && shape == lengths(theirs);
        let bytes = shape.iter().fold(32_u64, |n, m| n.saturating_mul(*m));
        if shape.is_empty() || bytes > options.memory_bytes {
            notes.push(format!(
                "'{path}' comes from the first file, and was not compared with the others"
            ));
            continue;
        }
        let ranges: Vec<Range<u64>> = shape.iter().map(|n| 0..*n).collect();
        if same_kind && first.read_box(number, &ranges)? == other.read_box(number, &ranges)? {
            continue;
        }
        ensure!(
            shape.iter().all(|n| *n == 1),
            "'{path}' is not the same as in the first file; only files with the same values along their other axes can be \
             joined"
        );
        notes.push(format!(
            "'{path}' differs between the files; the value of the first file is kept"
        ));
    }
    Ok(notes)
}

fn fields(schema: &Schema) -> Vec<(&str, hyperslab::Datatype, hyperslab::CellCount, &[u8])> {
    let attributes = schema.attributes.iter();
    attributes
        .map(|a| (a.name.as_str(), a.datatype, a.cell, a.fill.as_slice()))
        .collect()
}

/// The key that says something else about the meaning of cells.
fn differs<'a>(first: &'a [Entry], other: &'a [Entry]) -> Option<&'a str> {
    let meaning = |e: &&Entry| MEANING.iter().any(|end| e.key.ends_with(end));
    let missing = |a: &'a [Entry], b: &[Entry]| {
        a.iter()
            .filter(meaning)
            .find(|e| !b.contains(e))
            .map(|e| e.key.as_str())
    };
    missing(first, other).or_else(|| missing(other, first))
}

/// Makes an array as long as all files, with the same room to grow as before.
fn lengthen(array: &mut NewArray, total: u64) -> Result<()> {
    let Length::Box(lengths) = &mut array.length else {
        return Ok(());
    };
    let more = total.saturating_sub(lengths.first().copied().unwrap_or(0));
    if let Some(length) = lengths.first_mut() {
        *length = total;
    }
    let dimension = array.schema.dimensions.first_mut().context("there is no axis")?;
    let domain = dimension.domain.as_mut().context("the axis has no domain")?;
    let high = domain.hi.as_i128().context("the axis has no integers")? + i128::from(more);
    let high = Scalar::from_i128(dimension.datatype, high);
    domain.hi = high.context("the axis is too long for its type")?;
    Ok(())
}

impl Joined {
    fn file(&mut self, number: usize) -> Result<&mut dyn Source> {
        if self.current.as_ref().is_none_or(|(at, _)| *at != number) {
            let file = self.files.get(number).context("there is no such file")?;
            let source = open(&file.path, self.format, &self.options)?;
            self.current = Some((number, source));
        }
        match &mut self.current {
            Some((_, source)) => Ok(source.as_mut()),
            None => bail!("there is no such file"),
        }
    }
}

impl Source for Joined {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        let Some((wanted, rest)) = ranges.split_first().filter(|_| self.has_axis.get(array) == Some(&true)) else {
            return self.file(0)?.read_box(array, ranges);
        };
        let mut joined: Vec<(String, Column)> = Vec::new();
        for (number, ends) in self.starts.clone().windows(2).enumerate() {
            let &[start, end] = ends else { continue };
            let part = wanted.start.max(start)..wanted.end.min(end);
            if part.is_empty() {
                continue;
            }
            let mut ranges = vec![part.start - start..part.end - start];
            ranges.extend_from_slice(rest);
            let name = self.files.get(number).map_or_else(String::new, |f| f.name.clone());
            let columns = self
                .file(number)?
                .read_box(array, &ranges)
                .with_context(|| format!("cannot read {name}"))?;
            if joined.is_empty() {
                joined = columns;
                continue;
            }
            for ((field, column), (other, more)) in joined.iter_mut().zip(&columns) {
                ensure!(field == other, "{name} has its fields in another order");
                column.append(more);
            }
        }
        Ok(joined)
    }

    fn read_rows(&mut self, array: usize, rows: usize) -> Result<Option<Vec<(String, Column)>>> {
        self.file(0)?.read_rows(array, rows)
    }
}
