//! Finds tiles without cells that satisfy a condition, from the extremes of their fields.

use super::CompareOp;
use super::bind::{Bound, Test};
use super::pattern::after_prefix;
use crate::array::Fragment;
use crate::array::index::Section;
use crate::format::field::Field;
use crate::query::aggregate::Aggregate;
use crate::query::summary::StatisticsQuery;
use crate::scalar::Scalar;

/// The statistics of a fragment that are needed to exclude tiles by a condition on these `attributes`.
pub(crate) fn statistics(condition: &Bound, attributes: &[Field], fragment: &Fragment) -> Vec<Section> {
    let tested = condition.fields();
    let questions = attributes.iter().filter(|f| tested.contains(&f.name.as_str()));
    questions
        .filter_map(|field| question(field, fragment))
        .flat_map(|q| q.sections())
        .collect()
}

/// Whether the fragment's statistics show that no cell of a tile of `cells` cells satisfies the condition. The
/// statistics must be loaded.
pub(crate) fn fails(condition: &Bound, attributes: &[Field], fragment: &Fragment, tile: u64, cells: u64) -> bool {
    let range = |name: &str| {
        let field = attributes.iter().find(|f| f.name == name)?;
        let found = question(field, fragment)?.answer(tile, cells)?;
        found.min.zip(found.max)
    };
    excludes(condition, &range)
}

/// The question for a field's statistics. Fixed-length strings are compared without padding, but their statistics
/// include it, so they cannot be used.
fn question<'a>(field: &'a Field, fragment: &'a Fragment) -> Option<StatisticsQuery<'a>> {
    let padded = field.datatype.is_string() && !field.cell.is_var();
    StatisticsQuery::new(Aggregate::Min, field, fragment).filter(|_| !padded)
}

/// Whether no cell can satisfy the condition, given the extremes of each field in the field's type. `range` returns
/// `None` for unknown extremes, which exclude nothing.
fn excludes(condition: &Bound, range: &dyn Fn(&str) -> Option<(Scalar, Scalar)>) -> bool {
    match condition {
        Bound::Always(b) => !b,
        Bound::And(children) => children.iter().any(|c| excludes(c, range)),
        Bound::Or(children) => children.iter().all(|c| excludes(c, range)),
        Bound::Test(field, test) => range(field).is_some_and(|(lo, hi)| test_excludes(test, &lo, &hi)),
    }
}

fn test_excludes(test: &Test, lo: &Scalar, hi: &Scalar) -> bool {
    let nan = |s: &Scalar| s.as_f64().is_some_and(f64::is_nan);
    if nan(lo) || nan(hi) {
        return false;
    }
    let outside = |v: &Scalar| v.order(lo).is_lt() || v.order(hi).is_gt();
    let compare = |op: CompareOp, v: &Scalar| match op {
        CompareOp::Lt => lo.order(v).is_ge(),
        CompareOp::Le => lo.order(v).is_gt(),
        CompareOp::Gt => hi.order(v).is_le(),
        CompareOp::Ge => hi.order(v).is_lt(),
        CompareOp::Eq => nan(v) || outside(v),
        CompareOp::Ne => false,
    };
    match test {
        Test::Number(op, v) => compare(*op, v),
        // In lists, NaN equals NaN.
        Test::Numbers(values, false) | Test::NumberBytes(values, false) => values.iter().all(|v| !nan(v) && outside(v)),
        Test::Bytes(op, v) => compare(*op, &Scalar::Bytes(v.clone())),
        Test::ByteStrings(values, false) => values.iter().all(|v| outside(&Scalar::Bytes(v.clone()))),
        Test::Like(pattern, false) => {
            let (prefix, _) = pattern.prefix();
            let after = after_prefix(&prefix).map(Scalar::Bytes);
            compare(CompareOp::Ge, &Scalar::Bytes(prefix)) || after.is_some_and(|v| compare(CompareOp::Lt, &v))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::schema::{ArrayType, Attribute, Schema};
    use crate::query::condition::bind;

    #[test]
    fn extremes_exclude_tiles() {
        let attribute = |name, datatype, cell| Attribute::new(name, datatype, cell);
        let attributes = vec![
            attribute("i", Datatype::Int32, CellCount::ONE),
            attribute("f", Datatype::Float32, CellCount::ONE),
            attribute("s", Datatype::StringAscii, CellCount::Var),
        ];
        let schema = Schema::new(ArrayType::Sparse, vec![], attributes);
        let check = |text: &str, expect: bool| {
            let bound = bind(&text.parse().unwrap(), &schema, &BTreeMap::new()).unwrap();
            let range = |name: &str| {
                Some(match name {
                    "i" => (Scalar::I32(3), Scalar::I32(5)),
                    "f" => (Scalar::F32(-0.0), Scalar::F32(0.5)),
                    _ => (Scalar::from("b"), Scalar::from("dd")),
                })
            };
            assert_eq!(excludes(&bound, &range), expect, "{text}");
            assert!(!excludes(&bound, &|_| None));
        };
        check("i < 3", true);
        check("i <= 3", false);
        check("i > 5 or i == 2", true);
        check("i > 4 and i == 2", true);
        check("i in (1, 9)", true);
        check("i in (1, 4)", false);
        check("i != 3", false);
        check("i not in (3, 4, 5)", false);
        check("f > 0.5", true);
        check("f >= 0.5", false);
        check("f == 0.1", false);
        check("f < 0.0", true);
        check("f <= 0", false);
        check("f > 0.4999", false);
        check("f in (0)", false);
        check("f in (-1, 0.75)", true);
        check("f in (nan)", false);
        check("s < 'b'", true);
        check("s == 'a'", true);
        check("s == 'bcd'", false);
        check("s > 'dd'", true);
        check("s >= 'dd'", false);
        check("s in ('', 'ddd')", true);
        check("s in ('', 'c')", false);
        check("s != 'b'", false);
        check("s like 'a%'", true);
        check("s like 'e%x'", true);
        check("s like 'd%x'", false);
        check("s like '%x'", false);
        check("s not like 'b%x'", false);
    }
}
