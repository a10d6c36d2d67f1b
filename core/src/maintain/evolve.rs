//! Schema evolution: writes a new schema file and keeps the old ones.

use std::sync::Arc;

use super::EVOLVING;
use crate::array::create::{distinct, put_enumeration, put_schema};
use crate::array::{Array, Fragment, fetch, schemas};
use crate::column::Column;
use crate::datatype::{Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::attribute::Attribute;
use crate::format::current_domain::CurrentDomain;
use crate::format::enumeration::Enumeration;
use crate::format::folders::SCHEMA_DIR;
use crate::format::name;
use crate::format::pipeline::{Filter, Pipeline};
use crate::format::schema::{EnumerationRef, Schema};
use crate::format::version::Version;
use crate::identity::Ids;
use crate::scalar::ScalarRange;
use crate::vfs::{VfsExt, join, last_part, side_by_side};
use crate::write::{WriteOptions, clock};

/// The changes to a schema, applied atomically.
#[derive(Debug, Clone, Default)]
pub struct Evolution {
    /// Attributes to add. Existing cells read as their fill value.
    pub add: Vec<Attribute>,
    /// Names of attributes to drop.
    pub drop: Vec<String>,
    /// Enumerations to add.
    pub add_enumerations: Vec<Enumeration>,
    /// Enumerations to extend: the name, and the values to append.
    pub extend_enumerations: Vec<(String, Column)>,
    /// Enumerations to drop.
    pub drop_enumerations: Vec<String>,
    /// The new current domain. It must contain the old one.
    pub current_domain: Option<Vec<ScalarRange>>,
    /// Whether to take a later timestamp if another change has the given one or one a few seconds later.
    pub after_latest: bool,
}

/// Writes the array's next schema, valid from the timestamp of the write. If the store has locks, concurrent changes wait
/// for each other, and each is applied to the schema of the one before. Returns the time of the change.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
/// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "line", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
/// # let column = |values: &[i32]| vec![("a".to_owned(), Column::from_values(Datatype::Int32, values))];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: column(&[0, 1, 2, 3, 4, 5, 6, 7]) };
/// # array.write(cells, &at(10)).await?;
/// use hyperslab::maintain::{Evolution, evolve};
///
/// let array = array.at(Window::ALL).await?;
/// let change = Evolution {
///     add: vec![Attribute::new("b", Datatype::Uint8, CellCount::ONE)],
///     ..Evolution::default()
/// };
/// evolve(&array, &change, &at(20)).await?;
///
/// // Cells that were written before hold the fill value of the new attribute.
/// let batch = array.at(Window::ALL).await?.read(&Query::default()).await?;
/// assert_eq!(*batch.column("b").unwrap().values::<u8>()?, [255; 8]);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// - [`Error::InvalidArgument`] if a change is not possible, or if another change was made at the same time in a store
///   without locks.
/// - [`Error::Unsupported`] for arrays with fragments by 2.3 or older, or with run-length encoded strings by 2.7 or
///   older.
pub async fn evolve(array: &Array, change: &Evolution, options: &WriteOptions) -> Result<u64> {
    let turn = array.context().vfs.lock(array.path(), EVOLVING).await?;
    // The previous holder of the lock may have changed the schema since the array was opened.
    let array = &match turn {
        Some(_) => array.at(array.window()).await?,
        None => array.clone(),
    };
    stays_readable(array)?;
    let before = schema_names(array).await?;
    if let Some(latest) = before.last().filter(|last| **last != array.0.schema_name) {
        return Err(Error::invalid(format!(
            "{}: the latest schema is {latest}, but the array is open with {}; open the array again without a time",
            array.path(),
            array.0.schema_name
        )));
    }
    let mut ids = Ids::new(options.seed);
    let mut schema = (**array.schema()).clone();
    schema.version = Version::CURRENT;
    drop_attributes(array, &mut schema, &change.drop)?;
    let files = enumerations(array, &mut schema, change, &mut ids).await?;
    let past = if change.add.is_empty() {
        Vec::new()
    } else {
        past_schemas(array, &before).await?
    };
    for attribute in &change.add {
        add_attribute(array, &mut schema, attribute, &past, &files).await?;
    }
    if let Some(ranges) = &change.current_domain {
        expand(&mut schema, ranges)?;
    }
    check_enumerations(array, &schema, &files).await?;
    schema.check()?;
    let (context, key) = (array.context(), array.key());
    if schema == **array.schema() {
        return Err(Error::invalid("no change given: name something to add, drop or expand"));
    }
    // As in libtiledb's evolved schemas, each dimension gets the coordinate filters if it has none of its own.
    for dimension in &mut schema.dimensions {
        if dimension.filters.is_empty() {
            dimension.filters.clone_from(&schema.coords_filters);
        }
    }
    let timestamp_ms = if change.after_latest {
        clock::after(&before, options.timestamp_ms)?
    } else {
        options.timestamp_ms
    };
    sorts_last(&array.0.schema_name, timestamp_ms, &ids)?;
    for enumeration in &files {
        put_enumeration(context, array.path(), enumeration, key, &ids.nonces(key)).await?;
    }
    let ours = put_schema(context, array.path(), &schema, timestamp_ms, key, &mut ids).await?;
    if options.sync {
        context.vfs.sync(&join(array.path(), SCHEMA_DIR)).await?;
    }
    // Each of two concurrent changes writes its schema before it lists them, so at least one sees the other's.
    let after = schema_names(array).await?;
    match after.iter().find(|name| **name != ours && !before.contains(name)) {
        None => Ok(timestamp_ms),
        Some(other) => Err(Error::invalid(format!(
            "{}: the change was written as the schema {ours} while another process wrote {other}; {} is in force, without the changes \
             of the other: look at the schema and repeat the changes it lacks",
            array.path(),
            after.last().unwrap_or(&ours)
        ))),
    }
}

/// Fails if a schema written at this time would not be the last one by name. Timestamps are compared too, because names
/// may have different lengths.
fn sorts_last(present: &str, timestamp_ms: u64, ids: &Ids) -> Result<()> {
    let next = name::plain(timestamp_ms, timestamp_ms, ids.clone().draw());
    match name::times(present) {
        Some((_, latest_ms)) if timestamp_ms < latest_ms || *present >= *next => Err(Error::invalid(format!(
            "the change at {timestamp_ms} ms would sort before the current schema, {present}; use a later timestamp"
        ))),
        _ => Ok(()),
    }
}

/// The names of the array's schemas, oldest first.
async fn schema_names(array: &Array) -> Result<Vec<String>> {
    let listing = fetch::list(array.context(), array.path()).await?;
    Ok(listing
        .schemas()
        .iter()
        .map(|path| last_part(path).to_owned())
        .collect())
}

/// Refuses arrays that libtiledb could not read with a second schema. It reads all fragments with the latest schema.
/// This fails for fragments that do not name their schema, and for run-length encoded strings from before their offsets
/// were encoded with them.
fn stays_readable(array: &Array) -> Result<()> {
    let is_coded_now = |f: &Fragment| {
        let attributes = f.schema.attributes.iter().map(|a| (a.datatype, a.cell, &a.filters));
        let dimensions = f.schema.dimensions.iter().map(|d| (d.datatype, d.cell, &d.filters));
        let runs = |p: &Pipeline| p.filters.iter().any(|filter| matches!(filter, Filter::Rle { .. }));
        attributes
            .chain(dimensions)
            .any(|(t, cell, filters)| t == Datatype::StringAscii && cell.is_var() && runs(filters))
    };
    let is_old =
        |f: &&Arc<Fragment>| !f.version.has_schema_folder() || (!f.version.has_string_rle() && is_coded_now(f));
    let Some(old) = array.fragments().iter().find(is_old) else {
        return Ok(());
    };
    Err(Error::Unsupported(format!(
        "{}: libtiledb cannot read the fragment {} of format version {} if the array has a second schema; export the cells \
         and import them into a new array",
        array.path(),
        old.name,
        old.version
    )))
}

fn drop_attributes(array: &Array, schema: &mut Schema, names: &[String]) -> Result<()> {
    for name in names {
        let Some((i, _)) = schema.attribute(name) else {
            return Err(Error::invalid(format!(
                "cannot drop the attribute '{name}': it does not exist"
            )));
        };
        if array.deletes().iter().any(|d| d.keep.fields().contains(&name.as_str())) {
            return Err(Error::invalid(format!(
                "a delete tests the attribute '{name}', and libtiledb cannot open the array without it; keep it, or copy the cells into a new array (export, import)"
            )));
        }
        schema.attributes.remove(i);
    }
    Ok(())
}

/// Adds an attribute. If its name was used before, it must have the same type, filters and enumeration values, because
/// libtiledb reads the old fragments with the latest schema. `past` are the schemas so far, `files` the new
/// enumerations.
async fn add_attribute(
    array: &Array,
    schema: &mut Schema,
    new: &Attribute,
    past: &[Arc<Schema>],
    files: &[Enumeration],
) -> Result<()> {
    if schema.attribute(&new.name).is_some() || schema.dimension(&new.name).is_some() {
        return Err(Error::invalid(format!(
            "a field '{}' exists already; choose another name",
            new.name
        )));
    }
    for past in past {
        if let Some((_, old)) = past.attribute(&new.name) {
            let same = (old.datatype, old.cell, old.nullable, &old.filters)
                == (new.datatype, new.cell, new.nullable, &new.filters);
            if !same {
                return Err(Error::invalid(format!(
                    "the attribute '{}' existed before with another type or other filters, and the array still holds its cells; choose another name",
                    new.name
                )));
            }
            if !keeps_labels(array, (past, old), (schema, new), files).await? {
                return Err(Error::invalid(format!(
                    "the attribute '{}' existed before with an enumeration of other values, and its old cells \
                     would show the new ones; choose another name, or start the enumeration with the old values",
                    new.name
                )));
            }
        }
    }
    schema.attributes.push(new.clone());
    Ok(())
}

/// Whether indices of the old attribute denote the same values in the new one.
async fn keeps_labels(
    array: &Array,
    (past, old): (&Schema, &Attribute),
    (schema, new): (&Schema, &Attribute),
    files: &[Enumeration],
) -> Result<bool> {
    let file = |schema: &Schema, a: &Attribute| {
        let name = a.enumeration.as_ref()?;
        let reference = schema.enumerations.iter().find(|e| e.name == *name);
        reference.map(|e| e.file.clone())
    };
    let (Some(before), Some(now)) = (file(past, old), file(schema, new)) else {
        return Ok(true);
    };
    if before == now {
        return Ok(true);
    }
    let before = array.load_enumeration(&before).await?.values;
    let now = match files.iter().find(|e| e.file == now) {
        Some(e) => e.values.clone(),
        None => array.load_enumeration(&now).await?.values,
    };
    let is_like = (before.datatype, before.cell) == (now.datatype, now.cell) && before.len() <= now.len();
    Ok(is_like && (0..before.len()).all(|i| before.cell(i) == now.cell(i)))
}

async fn past_schemas<'a>(array: &'a Array, names: &'a [String]) -> Result<Vec<Arc<Schema>>> {
    let load = |name: &'a String| schemas::load_schema(array.context(), array.path(), name, array.key());
    side_by_side(names.iter().map(load)).await
}

/// Applies the changes of enumerations to the schema. Returns the enumerations to write.
async fn enumerations(
    array: &Array,
    schema: &mut Schema,
    change: &Evolution,
    ids: &mut Ids,
) -> Result<Vec<Enumeration>> {
    for name in &change.drop_enumerations {
        if let Some(user) = schema.attributes.iter().find(|a| a.enumeration.as_ref() == Some(name)) {
            return Err(Error::invalid(format!(
                "the enumeration '{name}' is used by the attribute '{}'; drop the attribute too",
                user.name
            )));
        }
        let before = schema.enumerations.len();
        schema.enumerations.retain(|e| e.name != *name);
        if schema.enumerations.len() == before {
            return Err(Error::invalid(format!(
                "cannot drop the enumeration '{name}': it does not exist"
            )));
        }
    }
    let mut files: Vec<Enumeration> = Vec::new();
    for new in &change.add_enumerations {
        if schema.enumerations.iter().any(|e| e.name == new.name) {
            return Err(Error::invalid(format!(
                "an enumeration '{}' exists already; extend it, or choose another name",
                new.name
            )));
        }
        let named = Enumeration {
            file: name::enumeration(ids.draw()),
            ..new.clone()
        };
        schema.enumerations.push(EnumerationRef {
            name: named.name.clone(),
            file: named.file.clone(),
        });
        files.push(named);
    }
    for (name, more) in &change.extend_enumerations {
        let Some(reference) = schema.enumerations.iter_mut().find(|e| e.name == *name) else {
            return Err(Error::invalid(format!(
                "cannot extend the enumeration '{name}': it does not exist"
            )));
        };
        let mut extended = (*array.enumeration(name).await?).clone();
        if (more.datatype, more.cell) != (extended.values.datatype, extended.values.cell) {
            return Err(Error::invalid(format!(
                "the values of the enumeration '{name}' must be {}",
                extended.values.datatype
            )));
        }
        more.check(name)?;
        extended.values.append(more);
        extended.file = name::enumeration(ids.draw());
        reference.file.clone_from(&extended.file);
        files.push(extended);
    }
    Ok(files)
}

/// Checks that enumeration values are unique and that the attributes' integer types can hold every index.
async fn check_enumerations(array: &Array, schema: &Schema, files: &[Enumeration]) -> Result<()> {
    files.iter().try_for_each(distinct)?;
    for attribute in &schema.attributes {
        let Some(name) = &attribute.enumeration else { continue };
        let values = match files.iter().find(|e| e.name == *name) {
            Some(e) => e.values.len(),
            None => array.enumeration(name).await?.values.len(),
        };
        let room = match attribute.datatype.physical() {
            Physical::I8 => 1_u64 << 7,
            Physical::U8 => 1 << 8,
            Physical::I16 => 1 << 15,
            Physical::U16 => 1 << 16,
            Physical::I32 => 1 << 31,
            Physical::U32 => 1 << 32,
            _ => u64::MAX,
        };
        if values as u64 > room {
            let ty = attribute.datatype;
            return Err(Error::invalid(format!(
                "the enumeration '{name}' has {values} values, but the attribute '{}' ({ty}) has room for only {room}",
                attribute.name
            )));
        }
    }
    Ok(())
}

fn expand(schema: &mut Schema, ranges: &[ScalarRange]) -> Result<()> {
    if ranges.len() != schema.dimensions.len() {
        return Err(Error::invalid(format!(
            "{} ranges given for {} dimensions",
            ranges.len(),
            schema.dimensions.len()
        )));
    }
    let holds = |outer: &ScalarRange, inner: &ScalarRange| outer.contains(&inner.lo) && outer.contains(&inner.hi);
    for (d, (dimension, new)) in schema.dimensions.iter().zip(ranges).enumerate() {
        let name = &dimension.name;
        if new.is_empty() || dimension.domain.as_ref().is_some_and(|domain| !holds(domain, new)) {
            return Err(Error::invalid(format!(
                "the new current domain exceeds the domain of dimension '{name}', which cannot change; stay within it"
            )));
        }
        if schema.limits(d).is_some_and(|old| !holds(new, old)) {
            return Err(Error::invalid(format!(
                "the current domain of dimension '{name}' can only grow; give a range that contains the current one"
            )));
        }
    }
    schema.current_domain = Some(CurrentDomain {
        ranges: ranges.to_vec(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;
    use crate::format::domain::Dimension;
    use crate::format::schema::ArrayType;

    #[test]
    fn the_current_domain_only_grows_and_stays_in_the_domain() {
        let mut schema = Schema::new(
            ArrayType::Sparse,
            vec![Dimension::new("x", Datatype::Int32, 0, 99, 10)],
            vec![],
        );
        assert!(expand(&mut schema, &[ScalarRange::new(0, 50)]).is_err());
        schema.current_domain = Some(CurrentDomain {
            ranges: vec![ScalarRange::new(10, 20)],
        });
        expand(&mut schema, &[ScalarRange::new(5, 20)]).unwrap();
        assert!(expand(&mut schema, &[ScalarRange::new(6, 99)]).is_err());
        assert!(expand(&mut schema, &[ScalarRange::new(0, 100)]).is_err());
        assert!(expand(&mut schema, &[]).is_err());
    }
}
