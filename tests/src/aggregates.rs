//! Compares aggregates with the cells they are computed from, and with those of libtiledb.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use hyperslab::blocking::block_on;
use hyperslab::{Aggregate, Array, Batch, CellCount, Column, Physical, Query, Scalar};

use crate::hex::Hex;

/// libtiledb's aggregates of one field, by name; `None` for null.
pub type Said = BTreeMap<String, Option<Hex>>;

const ALL: [(&str, Aggregate); 6] = [
    ("count", Aggregate::Count),
    ("null_count", Aggregate::NullCount),
    ("sum", Aggregate::Sum),
    ("mean", Aggregate::Mean),
    ("min", Aggregate::Min),
    ("max", Aggregate::Max),
];

/// Compares the aggregates of a query, some of which come from statistics, with the cells it reads and, if available,
/// with libtiledb's aggregates.
pub(crate) fn check(
    array: &Array,
    query: &Query,
    cells: &Batch,
    theirs: Option<&BTreeMap<String, Said>>,
) -> Result<()> {
    for (field, column) in &cells.columns {
        for (name, aggregate) in ALL {
            let said = theirs.and_then(|t| t.get(field)).and_then(|said| said.get(name));
            let found = match block_on(array.aggregate(query, &[(aggregate, field)])) {
                Ok(found) => found.into_iter().next().flatten(),
                Err(e) if e.code() == "InvalidArgument" && said.is_none() => continue,
                Err(e) => return Err(e.into()),
            };
            let expected = by_hand(aggregate, column);
            ensure!(
                alike(found.as_ref(), expected.as_ref(), aggregate, column),
                "{aggregate:?} of '{field}' is {found:?}, its cells say {expected:?}"
            );
            let Some(said) = said.filter(|_| comparable(aggregate, column)) else {
                continue;
            };
            let said = said.as_ref().map(|hex| value(aggregate, column, &hex.0)).transpose()?;
            ensure!(
                alike(found.as_ref(), said.as_ref(), aggregate, column),
                "{aggregate:?} of '{field}' is {found:?}, libtiledb says {said:?}"
            );
        }
    }
    Ok(())
}

/// Whether libtiledb's answer is meaningful. Without values it returns 0 if it cannot return null. A sum that overflows
/// saturates, so it depends on the order of the values, as do sums with infinities.
fn comparable(aggregate: Aggregate, column: &Column) -> bool {
    let counts = matches!(aggregate, Aggregate::Count | Aggregate::NullCount);
    let sums = matches!(aggregate, Aggregate::Sum | Aggregate::Mean);
    let values = (0..column.len()).filter(|&i| !column.is_null(i));
    let whole = |i| Scalar::from_le_bytes(column.datatype.physical(), column.cell(i))?.as_i128();
    let size = || values.clone().filter_map(whole).map(i128::unsigned_abs).sum::<u128>();
    let float = |i| Scalar::from_le_bytes(column.datatype.physical(), column.cell(i))?.as_f64();
    let endless = || values.clone().filter_map(float).any(|v| !v.is_finite());
    counts || values.clone().next().is_some() && !(sums && (size() > i64::MAX as u128 || endless()))
}

/// Decodes libtiledb's bytes.
fn value(aggregate: Aggregate, column: &Column, bytes: &[u8]) -> Result<Scalar> {
    let own = column.datatype.physical();
    let physical = match aggregate {
        Aggregate::Count | Aggregate::NullCount => Physical::U64,
        Aggregate::Mean => Physical::F64,
        Aggregate::Sum => match own {
            Physical::F32 | Physical::F64 => Physical::F64,
            Physical::I8 | Physical::I16 | Physical::I32 | Physical::I64 => Physical::I64,
            _ => Physical::U64,
        },
        _ if column.cell != CellCount::ONE => return Ok(Scalar::Bytes(bytes.to_vec())),
        _ => own,
    };
    Scalar::from_le_bytes(physical, bytes).with_context(|| format!("{} bytes are no {physical:?}", bytes.len()))
}

/// Computes an aggregate from the cells.
fn by_hand(aggregate: Aggregate, column: &Column) -> Option<Scalar> {
    let values = (0..column.len()).filter(|&i| !column.is_null(i));
    let cells = column.len() as u64;
    let physical = column.datatype.physical();
    let text = column.cell != CellCount::ONE;
    let scalar = |i: usize| match text {
        true => Some(Scalar::Bytes(column.cell(i).to_vec())),
        false => Scalar::from_le_bytes(physical, column.cell(i)),
    };
    let nan = |s: &Scalar| s.as_f64().is_some_and(f64::is_nan);
    match aggregate {
        Aggregate::Count => Some(Scalar::U64(cells)),
        Aggregate::NullCount => Some(Scalar::U64(cells - values.count() as u64)),
        Aggregate::Min | Aggregate::Max => values.filter_map(scalar).reduce(|a, b| {
            let better = if aggregate == Aggregate::Min {
                b.order(&a).is_lt()
            } else {
                b.order(&a).is_gt()
            };
            if nan(&a) || (better && !nan(&b)) { b } else { a }
        }),
        _ if values.clone().next().is_none() => None,
        Aggregate::Mean => {
            let numbers: Vec<f64> = values.filter_map(scalar).filter_map(|s| s.as_f64()).collect();
            Some(Scalar::F64(numbers.iter().sum::<f64>() / numbers.len() as f64))
        }
        _ if matches!(physical, Physical::F32 | Physical::F64) => {
            Some(Scalar::F64(values.filter_map(scalar).filter_map(|s| s.as_f64()).sum()))
        }
        _ => {
            let sum: i128 = values.filter_map(scalar).filter_map(|s| s.as_i128()).sum();
            let signed = matches!(physical, Physical::I8 | Physical::I16 | Physical::I32 | Physical::I64);
            Some(match signed {
                true => Scalar::I64(i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })),
                false => Scalar::U64(u64::try_from(sum).unwrap_or(u64::MAX)),
            })
        }
    }
}

/// Whether two aggregates of a column are equal. Sums of floats may have been added in different orders, so they may
/// differ by a rounding error relative to the magnitude of the values.
fn alike(a: Option<&Scalar>, b: Option<&Scalar>, aggregate: Aggregate, column: &Column) -> bool {
    let float = |s: Option<&Scalar>| s.filter(|s| s.as_i128().is_none()).and_then(Scalar::as_f64);
    let (Some(x), Some(y)) = (float(a), float(b)) else {
        return a == b;
    };
    if x == y || (x.is_nan() && y.is_nan()) {
        return true;
    }
    let values = (0..column.len()).filter(|&i| !column.is_null(i));
    let numbers = values.filter_map(|i| Scalar::from_le_bytes(column.datatype.physical(), column.cell(i))?.as_f64());
    let size: f64 = numbers.clone().map(f64::abs).sum();
    let met_the_limit = size > 1e300 && numbers.clone().all(f64::is_finite);
    let sums = matches!(aggregate, Aggregate::Sum | Aggregate::Mean);
    sums && (met_the_limit || (x - y).abs() <= size * 1e-12)
}
