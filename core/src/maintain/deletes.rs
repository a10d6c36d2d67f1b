//! Applies deletes during consolidation. Each cell either gets the time and the index of the delete that removed it, or
//! is dropped.

use std::collections::HashMap;

use crate::array::Delete;
use crate::column::Column;
use crate::error::{AtPath, Result};
use crate::format::name;
use crate::format::schema::Schema;
use crate::query::condition::{Bound, TestColumn, bind_stored, evaluate};

/// The deletes that apply to the fragments of a run.
#[derive(Debug, Default)]
pub(super) struct Deletes {
    /// The timestamp, the condition of the cells that stay, and the index in `names` of each delete; oldest first.
    deletes: Vec<(u64, Bound, u64)>,
    /// Paths of the delete commits, oldest first: the processed conditions.
    pub(super) names: Vec<String>,
    places: HashMap<String, u64>,
}

/// The cells of one tile, with the delete data of their fragment.
#[derive(Debug)]
pub(super) struct TileDeletes<'a> {
    /// The attributes, then the dimensions, of the schema.
    pub(super) columns: &'a [Column],
    /// The attributes that the fragment lacks. Every comparison with them fails, so such cells do not stay.
    pub(super) absent: &'a [bool],
    /// The write timestamp of each cell.
    pub(super) times: &'a [u64],
    /// The delete timestamp of each cell; `u64::MAX` if it was not deleted.
    pub(super) deleted: Vec<u64>,
    /// The index in `names` of the delete that removed each cell; `u64::MAX` for none.
    pub(super) conditions: &'a [u64],
    /// The conditions that the fragment has processed already.
    pub(super) names: &'a [String],
}

impl Deletes {
    /// Takes the `deletes` that may apply to cells written at `first_ms` or later, and the conditions processed
    /// `earlier` by the fragments.
    pub(super) fn new(schema: &Schema, deletes: &[Delete], first_ms: u64, earlier: &[String]) -> Result<Self> {
        let loaded: Vec<&Delete> = deletes.iter().filter(|d| d.time_ms >= first_ms).collect();
        let mut names: Vec<String> = loaded
            .iter()
            .map(|d| d.path.clone())
            .chain(earlier.iter().cloned())
            .collect();
        names.sort_by(|a, b| (name::times(a), a).cmp(&(name::times(b), b)));
        names.dedup();
        let places: HashMap<String, u64> = names.iter().cloned().zip(0..).collect();
        let place = |d: &Delete| places.get(&d.path).copied().unwrap_or(u64::MAX);
        let bound = |d: &&Delete| Ok((d.time_ms, bind_stored(&d.keep, schema).at(&d.path)?, place(d)));
        let mut deletes = loaded.iter().map(bound).collect::<Result<Vec<_>>>()?;
        deletes.sort_by_key(|d| (d.0, d.2));
        Ok(Self { deletes, names, places })
    }

    /// Whether there are no deletes.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the delete timestamp of each cell and the index of its condition; `u64::MAX` if it was not deleted.
    pub(super) fn apply(&self, schema: &Schema, tile: TileDeletes<'_>) -> (Vec<u64>, Vec<u64>) {
        let TileDeletes {
            columns,
            absent,
            times,
            mut deleted,
            conditions,
            names,
        } = tile;
        let translate = |own: &u64| {
            let name = usize::try_from(*own).ok().and_then(|i| names.get(i));
            name.and_then(|n| self.places.get(n)).copied().unwrap_or(u64::MAX)
        };
        let mut by: Vec<u64> = conditions.iter().map(translate).collect();
        let column = |name: &str| {
            let i = match schema.attribute(name) {
                Some((i, _)) if absent.get(i) == Some(&true) => return None,
                Some((i, _)) => i,
                None => schema.attributes.len() + schema.dimension(name)?.0,
            };
            columns.get(i).map(|column| TestColumn { column, present: None })
        };
        for (time, keep, place) in &self.deletes {
            let keep = evaluate(keep, times.len(), &column);
            let cells = keep.iter().zip(times).zip(deleted.iter_mut().zip(&mut by));
            for ((keep, written), (deleted, by)) in cells {
                // A delete also removes cells with its own timestamp. The earliest delete counts.
                if *keep == 0 && written <= time && time < deleted {
                    (*deleted, *by) = (*time, *place);
                }
            }
        }
        (deleted, by)
    }
}

/// Returns which cells a purge keeps, given their delete timestamps. Cells with equal coordinates are neighbours,
/// newest first; `same[i]` is set if cell `i` has the coordinates of the cell before.
///
/// In an array without duplicates, a deleted cell has hidden the older cells at its coordinates. They are dropped too.
pub(super) fn survivors(deleted: &[u64], same: Option<&[bool]>) -> Vec<bool> {
    let mut buried = false;
    let mut keep = Vec::with_capacity(deleted.len());
    for (i, &time) in deleted.iter().enumerate() {
        let here = same.and_then(|s| s.get(i)).copied().unwrap_or(false);
        buried = (here && buried) || time != u64::MAX;
        keep.push(!buried);
        buried &= same.is_some();
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::condition::{CompareOp, StoredCondition};
    use crate::format::domain::Dimension;
    use crate::format::schema::{ArrayType, Attribute};

    fn delete(time_ms: u64, below: i32) -> Delete {
        // Deletes a < below; the stored condition selects the cells that stay.
        let keep = StoredCondition::Compare {
            field: "a".into(),
            op: CompareOp::Ge,
            value: below.to_le_bytes().to_vec(),
        };
        Delete {
            path: format!("__commits/__{time_ms}_{time_ms}_0_22.del"),
            time_ms,
            keep,
        }
    }

    fn schema() -> Schema {
        let dims = vec![Dimension::new("x", Datatype::Int32, 0, 9, 5)];
        Schema::new(
            ArrayType::Sparse,
            dims,
            vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)],
        )
    }

    fn apply(deletes: &Deletes, a: &[i32], times: &[u64], absent: bool) -> (Vec<u64>, Vec<u64>) {
        let columns = [
            Column::from_values(Datatype::Int32, a),
            Column::from_values(Datatype::Int32, a),
        ];
        let never = vec![u64::MAX; a.len()];
        let tile = TileDeletes {
            columns: &columns,
            absent: &[absent],
            times,
            deleted: never.clone(),
            conditions: &never,
            names: &[],
        };
        deletes.apply(&schema(), tile)
    }

    #[test]
    fn the_earliest_delete_at_or_after_the_write_counts() {
        let deletes = Deletes::new(&schema(), &[delete(3, 5), delete(7, 10)], 2, &[]).unwrap();
        let (when, by) = apply(&deletes, &[1, 1, 7, 20], &[3, 4, 1, 1], false);
        assert_eq!(when, [3, 7, 7, u64::MAX]);
        assert_eq!(by, [0, 1, 1, u64::MAX]);
        let (when, _) = apply(&deletes, &[20], &[1], true);
        assert_eq!(when, [3]);
    }

    #[test]
    fn processed_conditions_keep_their_names() {
        let old = "__commits/__1_1_0_22.del".to_owned();
        let deletes = Deletes::new(&schema(), &[delete(3, 5), delete(1, 5)], 2, std::slice::from_ref(&old)).unwrap();
        assert_eq!(deletes.names, [old.clone(), delete(3, 5).path]);
        let columns = [
            Column::from_values(Datatype::Int32, &[9, 1]),
            Column::from_values(Datatype::Int32, &[9, 1]),
        ];
        let tile = TileDeletes {
            columns: &columns,
            absent: &[false],
            times: &[0, 0],
            deleted: vec![1, u64::MAX],
            conditions: &[0, u64::MAX],
            names: &[old],
        };
        let (when, by) = deletes.apply(&schema(), tile);
        assert_eq!((when, by), (vec![1, 3], vec![0, 1]));
    }

    #[test]
    fn a_purge_does_not_restore_cells_hidden_by_a_deleted_cell() {
        let never = u64::MAX;
        let deleted = [never, 5, never, 5, never];
        let same = [false, true, true, false, false];
        assert_eq!(survivors(&deleted, Some(&same)), [true, false, false, false, true]);
        assert_eq!(survivors(&deleted, None), [true, false, true, false, true]);
    }
}
