//! Which tiles no cell of which can satisfy a condition, by the least and the greatest values of their fields.

use super::CompareOp;
use super::bind::{Bound, Test};
use crate::scalar::Scalar;

/// Whether no cell can satisfy the condition, given the least and the greatest value of each field.
/// `range` gives `None` where they are not known, which excludes nothing.
pub(crate) fn excludes(condition: &Bound, range: &dyn Fn(&str) -> Option<(Scalar, Scalar)>) -> bool {
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
    let outside = |v: &Scalar| nan(v) || v.order(lo).is_lt() || v.order(hi).is_gt();
    match test {
        Test::Number(CompareOp::Lt, v) => lo.order(v).is_ge(),
        Test::Number(CompareOp::Le, v) => lo.order(v).is_gt(),
        Test::Number(CompareOp::Gt, v) => hi.order(v).is_le(),
        Test::Number(CompareOp::Ge, v) => hi.order(v).is_lt(),
        Test::Number(CompareOp::Eq, v) => outside(v),
        Test::Numbers(values, false) => values.iter().all(|v| !nan(v) && outside(v)),
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
    fn a_range_of_values_excludes_what_it_can() {
        let schema = Schema::new(
            ArrayType::Sparse,
            vec![],
            vec![Attribute::new("i", Datatype::Int32, CellCount::ONE)],
        );
        let check = |text: &str, expect: bool| {
            let bound = bind(&text.parse().unwrap(), &schema, &BTreeMap::new()).unwrap();
            let range = |_: &str| Some((Scalar::I32(3), Scalar::I32(5)));
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
    }
}
