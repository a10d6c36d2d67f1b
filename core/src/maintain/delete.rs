//! Deletes cells by condition and fragments by time.

use std::collections::{BTreeMap, BTreeSet};

use super::COMMITTING;
use super::catalog::Catalog;
use super::exempt;
use super::vacuum::RemovalPlan;
use crate::array::{Array, Window};
use crate::datatype::{CellCount, Datatype};
use crate::error::{AtPath, Error, Result};
use crate::format::commits::COMMITS_DIR;
use crate::format::condition::StoredCondition;
use crate::format::{generic_tile, name};
use crate::identity::Ids;
use crate::query::Condition;
use crate::query::condition::{Bound, no_cell, to_keep};
use crate::vfs::{VfsExt, last_part};
use crate::write::WriteOptions;
use crate::write::commit::put;

/// Deletes the cells of a sparse array that meet `condition`. These are the cells that a read with the condition
/// returns at the timestamp of the delete, here and in libtiledb. Returns the name of the delete commit, or `None` if no
/// cell can meet the condition; nothing is written then.
///
/// Delete conditions of the format cannot test for null, and libtiledb removes cells of fragments that lack a tested
/// field. If the condition depends on either, the array is read first, and cells that must stay are excluded by their
/// coordinates.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 999, 100);
/// # let schema = Schema::new(ArrayType::Sparse, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "points", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "points", &OpenOptions::default()).await?;
/// # let columns = |x: &[i32], a: &[i32]| vec![
/// #     ("x".to_owned(), Column::from_values(Datatype::Int32, x)),
/// #     ("a".to_owned(), Column::from_values(Datatype::Int32, a)),
/// # ];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: columns(&[700, 5, 42], &[7, 0, 4]) };
/// # array.write(cells, &at(10)).await?;
/// # let array = array.at(Window::ALL).await?;
/// use hyperslab::maintain::{count_deleted, delete};
///
/// let condition = "a >= 4".parse()?;
/// let counts = count_deleted(&array, &condition, &at(20)).await?;
/// assert_eq!(counts.iter().map(|(_, cells)| *cells).sum::<u64>(), 2);
/// delete(&array, &condition, &at(20)).await?;
/// assert_eq!(array.at(Window::ALL).await?.count(&Query::default()).await?, 1);
/// // The cells are still there in the past.
/// assert_eq!(array.at(Window::at(15)).await?.count(&Query::default()).await?, 3);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// - [`Error::InvalidArgument`] for a dense array, a field that does not exist or did not exist at that timestamp, or a
///   value that is not in an enumeration.
/// - [`Error::Unsupported`] if the array's format version has no deletes, libtiledb cannot test one of the fields, or
///   the format cannot express which cells stay.
pub async fn delete(array: &Array, condition: &Condition, options: &WriteOptions) -> Result<Option<String>> {
    let bound = check(array, condition).await?;
    let Some(keep) = plan(array, &bound, options, false).await?.0 else {
        return Ok(None);
    };
    let version = array.schema().version.for_new_fragments();
    let mut ids = Ids::new(options.seed);
    let name = name::versioned(options.timestamp_ms, options.timestamp_ms, ids.draw(), version);
    let path = format!("{COMMITS_DIR}/{name}.del");
    let bytes = generic_tile::encode(&keep.encode(), array.key(), &ids.nonces(array.key())).at(&path)?;
    put(array, &path, bytes, options.sync).await?;
    Ok(Some(name))
}

/// Counts the cells that [`delete`] would remove, by fragment name. Changes nothing.
///
/// # Errors
/// The errors of [`delete`].
pub async fn count_deleted(
    array: &Array,
    condition: &Condition,
    options: &WriteOptions,
) -> Result<BTreeMap<String, u64>> {
    let bound = check(array, condition).await?;
    Ok(plan(array, &bound, options, true).await?.1)
}

/// Binds a condition, after checking that cells of this array can be deleted by it.
async fn check(array: &Array, condition: &Condition) -> Result<Bound> {
    let schema = array.schema();
    if schema.is_dense() {
        return Err(Error::invalid(
            "cells of a dense array cannot be deleted; write the fill value over them",
        ));
    }
    let version = schema.version.for_new_fragments();
    if !version.has_delete_commits() {
        let why = format!(
            "the array has format version {version}, which has no deletes; export its cells and import them into a new array"
        );
        return Err(Error::Unsupported(why));
    }
    let bound = array.bind(condition).await?;
    if let Some(field) = bound.field_like() {
        let why = format!(
            "cannot delete with this pattern of '{field}'; list the values with 'in', or use a prefix such as 'Alaska%' if \
             its text has variable length"
        );
        return Err(Error::Unsupported(why));
    }
    for field in bound.fields() {
        let why = schema
            .type_of(field)
            .and_then(|(datatype, cell)| untestable(datatype, cell));
        if let Some(why) = why {
            return Err(Error::Unsupported(format!(
                "cannot delete by '{field}', which {why}; test another field"
            )));
        }
    }
    Ok(bound)
}

/// Returns the condition of the cells to keep, as stored, and the number of cells removed from each fragment. The
/// condition is `None` if no cell can meet the delete's condition. The cells are counted only if `counted` is set or the
/// stored condition depends on them.
async fn plan(
    array: &Array,
    bound: &Bound,
    options: &WriteOptions,
    counted: bool,
) -> Result<(Option<StoredCondition>, BTreeMap<String, u64>)> {
    let schema = array.schema();
    let then = array.at(Window::at(options.timestamp_ms)).await?;
    for field in bound.fields() {
        if then.schema().type_of(field) != schema.type_of(field) {
            return Err(Error::invalid(format!(
                "the array had no field '{field}' of this type at the time of the delete; choose a later time, or test another field"
            )));
        }
    }
    let lacks = |field: &str| exempt::is_lacking(&then, field);
    let keep = to_keep(bound, schema, &lacks);
    if keep == StoredCondition::Always(true) {
        return Ok((None, BTreeMap::new()));
    }
    let stored = |keep| match keep {
        StoredCondition::Always(false) => Some(no_cell(schema)),
        keep => Some(keep),
    };
    if !counted && !exempt::depends_on_cells(bound, schema, &lacks) {
        return Ok((stored(keep), BTreeMap::new()));
    }
    let effect = then.delete_effect(bound, &keep).await?;
    let keep = exempt::exempt(keep, &effect, bound, schema, &lacks)?;
    Ok((stored(keep), effect.fragments))
}

/// Returns why libtiledb cannot test such a field, if so. It would refuse to read the array.
fn untestable(datatype: Datatype, cell: CellCount) -> Option<String> {
    let narrow = matches!(datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
    match cell {
        CellCount::Fixed(n) if n > 1 => Some(
            "has several values per cell: libtiledb tests only the first, and would hide other cells from its readers"
                .into(),
        ),
        _ if narrow => None,
        CellCount::Fixed(_) if !datatype.is_bytes() => None,
        _ => Some(format!(
            "holds {datatype}, which libtiledb cannot test: its readers would fail to read the array"
        )),
    }
}

/// Removes the fragments that are wholly within `window`. Returns their names, oldest first.
///
/// Fragments replaced by a consolidated one are removed too. A consolidated fragment that reaches out of the window
/// stays with all of its cells.
///
/// ```
/// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
/// # use hyperslab::*;
/// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
/// # let context = Context::memory();
/// # let x = Dimension::new("x", Datatype::Int32, 0, 999, 100);
/// # let schema = Schema::new(ArrayType::Sparse, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
/// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
/// # Array::create(&context, "points", &schema, &[], &options).await?;
/// # let array = Array::open(&context, "points", &OpenOptions::default()).await?;
/// # let columns = |x: &[i32], a: &[i32]| vec![
/// #     ("x".to_owned(), Column::from_values(Datatype::Int32, x)),
/// #     ("a".to_owned(), Column::from_values(Datatype::Int32, a)),
/// # ];
/// # let at = |timestamp_ms| WriteOptions { timestamp_ms, seed: [timestamp_ms as u8; 32], sync: false };
/// # let cells = Cells { region: None, layout: Layout::RowMajor, columns: columns(&[700, 5, 42], &[7, 0, 4]) };
/// # array.write(cells, &at(10)).await?;
/// # let array = array.at(Window::ALL).await?;
/// use hyperslab::maintain::delete_fragments;
///
/// let removed = delete_fragments(&array, Window { start_ms: 0, end_ms: 15 }, &at(20)).await?;
/// assert_eq!(removed.len(), 1);
/// assert_eq!(array.at(Window::ALL).await?.count(&Query::default()).await?, 0);
/// # Ok(()) }) }
/// ```
///
/// # Errors
/// [`Error::Io`].
pub async fn delete_fragments(array: &Array, window: Window, options: &WriteOptions) -> Result<Vec<String>> {
    let _turn = array.context().vfs.lock(array.path(), COMMITTING).await?;
    let catalog = Catalog::load(array).await?;
    let inside = |path: &str| name::times(path).is_some_and(|(a, b)| window.start_ms <= a && b <= window.end_ms);
    let folders: BTreeSet<String> = catalog
        .fragments()
        .into_iter()
        .filter(|folder| inside(folder))
        .collect();
    let lists = catalog.vacuum.iter().map(|(path, _)| path.clone());
    let gone = |list: &String| {
        let stem = last_part(list).trim_end_matches(".vac");
        folders.iter().any(|f| last_part(f) == stem)
    };
    // A consolidated fragment's list hides the fragments it replaced, so remove it last.
    let plan = RemovalPlan::fragments(&catalog, &folders).then_files(lists.filter(gone));
    plan.run(array, options).await?;
    let mut names: Vec<String> = folders.iter().map(|f| last_part(f).to_owned()).collect();
    names.sort_by_key(|name| name::times(name));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::attribute::Attribute;
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Schema};
    use crate::query::condition::bind;

    /// libtiledb 2.30 cannot read combinations of one condition, empty lists, or lists of empty strings.
    #[test]
    fn conditions_are_stored_in_a_form_that_libtiledb_reads() {
        let schema = Schema::new(
            ArrayType::Sparse,
            vec![Dimension::string("d")],
            vec![
                Attribute::new("day", Datatype::DatetimeDay, CellCount::ONE),
                Attribute::new("small", Datatype::Int8, CellCount::ONE),
                Attribute::new("letter", Datatype::Char, CellCount::ONE),
            ],
        );
        let stored = |text: &str| {
            let condition: Condition = text.parse().unwrap();
            let bound = bind(&condition, &schema, &BTreeMap::new()).unwrap();
            to_keep(&bound, &schema, &|_| false)
        };
        assert_eq!(stored("letter in ('a', '', 'zz')"), stored("letter in ('a', '\0')"));
        let StoredCondition::Compare { value, .. } = stored("letter == ''") else {
            panic!("a comparison")
        };
        assert_eq!(value, b"\0", "no test of null");
        assert_eq!(stored("day == '2020-01-01'"), stored("day == 18262"));
        assert_eq!(stored("day in ('2020-01-01')"), stored("day in (18262)"));
        assert_eq!(stored("day not in ('2020-01-01')"), stored("day not in (18262)"));
        assert_eq!(stored("d in ['', '']"), stored("d == ''"));
        assert_eq!(stored("d not in ['']"), stored("d != ''"));
        assert_eq!(stored("small in [300]"), StoredCondition::Always(true));
        assert_eq!(stored("small not in [300, 5.5]"), StoredCondition::Always(false));
        assert!(matches!(stored("small in [3, 300]"), StoredCondition::In { values, .. } if values == [[3]]));
    }

    #[test]
    fn fields_that_libtiledb_cannot_test_are_refused() {
        use Datatype::{Blob, Bool, Char, DatetimeDay, GeomWkb, Int32, StringAscii, StringUtf8, StringUtf16, Uint8};
        for datatype in [Int32, Uint8, Bool, DatetimeDay, Char, StringAscii, StringUtf8] {
            assert_eq!(untestable(datatype, CellCount::ONE), None, "{datatype}");
            assert!(untestable(datatype, CellCount::Fixed(2)).is_some(), "{datatype}");
        }
        for datatype in [Blob, GeomWkb, StringUtf16] {
            assert!(untestable(datatype, CellCount::ONE).is_some(), "{datatype}");
        }
        for datatype in [Blob, StringUtf16, Uint8, Int32] {
            assert!(untestable(datatype, CellCount::Var).is_some(), "{datatype}");
        }
        for datatype in [Char, StringAscii, StringUtf8] {
            assert_eq!(untestable(datatype, CellCount::Var), None, "{datatype}");
        }
    }

    #[test]
    fn parts_that_no_cell_or_every_cell_meets_are_not_stored() {
        let attribute = |name| Attribute::new(name, Datatype::Int8, CellCount::ONE);
        let schema = |dimension| Schema::new(ArrayType::Sparse, vec![dimension], vec![attribute("a"), attribute("b")]);
        let schema_of_numbers = schema(Dimension::new("d", Datatype::Int32, 0_i32, 9_i32, 5_i32));
        let stored = |text: &str| {
            let condition: Condition = text.parse().unwrap();
            let bound = bind(&condition, &schema_of_numbers, &BTreeMap::new()).unwrap();
            to_keep(&bound, &schema_of_numbers, &|_| false)
        };
        for (text, same) in [
            ("a == 1.5 or b > 2", "b > 2"),
            ("a != 300 and b > 2", "b > 2"),
            ("a is null or b > 2 or b in (999)", "b > 2"),
            ("(a == 1.5 or b > 2) and (a < 5 or b == nan)", "b > 2 and a < 5"),
        ] {
            assert_eq!(stored(text), stored(same), "{text}");
        }
        for none in [
            "a == 1.5",
            "a == 300 and b > 2",
            "a is null and (b > 2 or a > 1)",
            "a < nan or b > 127.5",
        ] {
            assert_eq!(stored(none), StoredCondition::Always(true), "{none}");
        }
        for all in [
            "a != 1.5",
            "a < 300 or b > 2",
            "a is not null and b <= 300",
            "not (a == nan)",
        ] {
            assert_eq!(stored(all), StoredCondition::Always(false), "{all}");
        }
        for schema in [&schema_of_numbers, &schema(Dimension::string("d"))] {
            let StoredCondition::And(parts) = no_cell(schema) else {
                panic!("two comparisons")
            };
            let tested = |c: &StoredCondition| matches!(c, StoredCondition::Compare { value, .. } if !value.is_empty());
            assert!(parts.len() == 2 && parts.iter().all(tested), "no test of null");
        }
    }
}
