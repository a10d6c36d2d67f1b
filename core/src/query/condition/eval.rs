//! Runs a condition's tests on columns.

use std::cmp::Ordering;
use std::collections::HashSet;

use bytemuck::Pod;
use hashlink::DefaultHashBuilder;

use super::CompareOp;
use super::bind::{Bound, Test};
use crate::column::{Column, typed};
use crate::scalar::Scalar;
use crate::with_type;

/// The cells of a field that is tested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestColumn<'a> {
    /// The values.
    pub(crate) column: &'a Column,
    /// 0 where the cell's fragment does not have the field: every test fails there. `None`: all have it.
    pub(crate) present: Option<&'a [u8]>,
}

/// 1 for each of `cells` cells that `condition` holds for, else 0. `column` finds a field by name; a
/// field that is not found fails every test.
pub(crate) fn evaluate<'a>(
    condition: &Bound,
    cells: usize,
    column: &dyn Fn(&str) -> Option<TestColumn<'a>>,
) -> Vec<u8> {
    match condition {
        Bound::Always(b) => vec![u8::from(*b); cells],
        Bound::And(children) => {
            let mut out = vec![1; cells];
            for child in children {
                let found = evaluate(child, cells, column);
                out.iter_mut().zip(found).for_each(|(a, b)| *a &= b);
            }
            out
        }
        Bound::Or(children) => {
            let mut out = vec![0; cells];
            any_of(children, cells, column, &mut out);
            out
        }
        Bound::Test(field, test) => {
            let Some(c) = column(field) else { return vec![0; cells] };
            let mut out = run(test, c.column, cells);
            let mask = |out: &mut Vec<u8>, by: &[u8]| out.iter_mut().zip(by).for_each(|(o, b)| *o &= b);
            if let (Some(validity), false) = (&c.column.validity, matches!(test, Test::Null(_))) {
                out.iter_mut().zip(validity).for_each(|(o, &v)| *o &= u8::from(v != 0));
            }
            if let Some(present) = c.present {
                mask(&mut out, present);
            }
            out
        }
    }
}

/// Adds to `out` the cells that one of `children` holds for. Alternatives among alternatives count as
/// alternatives of the whole.
fn any_of<'a>(children: &[Bound], cells: usize, column: &dyn Fn(&str) -> Option<TestColumn<'a>>, out: &mut [u8]) {
    for child in children {
        if let Bound::Or(inner) = child {
            any_of(inner, cells, column, out);
            continue;
        }
        forget_absent(child, column, out);
        let found = evaluate(child, cells, column);
        out.iter_mut().zip(found).for_each(|(a, b)| *a |= b);
    }
}

/// A test of a field that a cell's fragment does not have takes back what was found for the cell before
/// it: that is how libtiledb reads a disjunction, and so what the deletes of evolved arrays leave.
fn forget_absent<'a>(test: &Bound, column: &dyn Fn(&str) -> Option<TestColumn<'a>>, out: &mut [u8]) {
    let Bound::Test(field, _) = test else { return };
    match column(field) {
        None => out.fill(0),
        Some(TestColumn { present: Some(by), .. }) => out.iter_mut().zip(by).for_each(|(o, b)| *o &= b),
        Some(_) => {}
    }
}

fn run(test: &Test, column: &Column, cells: usize) -> Vec<u8> {
    let mut out = match test {
        Test::Null(negated) => match &column.validity {
            Some(validity) => validity.iter().map(|&v| u8::from((v == 0) != *negated)).collect(),
            None => vec![u8::from(*negated); cells],
        },
        Test::Number(op, value) => with_type!(column.datatype.physical(), T => match number::<T>(value) {
            Some(v) => compare_numbers(&typed::<T>(&column.data), *op, v),
            None => Vec::new(),
        }),
        Test::Numbers(values, negated) => match column.datatype.size() {
            1 => one_of::<u8>(&column.data, values, *negated),
            2 => one_of::<u16>(&column.data, values, *negated),
            4 => one_of::<u32>(&column.data, values, *negated),
            _ => one_of::<u64>(&column.data, values, *negated),
        },
        Test::Bytes(op, value) => (0..cells)
            .map(|i| u8::from(holds(*op, trimmed(column, i).cmp(value.as_slice()))))
            .collect(),
        Test::Padded(op, value) => (0..cells)
            .map(|i| u8::from(holds(*op, column.cell(i).cmp(value.as_slice()))))
            .collect(),
        Test::FirstByte(op, value) => {
            let first = |i| column.cell(i).first().map_or(0, |&byte| byte as i8);
            (0..cells).map(|i| u8::from(holds(*op, first(i).cmp(value)))).collect()
        }
        Test::ByteStrings(values, negated) => {
            let values: HashSet<&[u8], DefaultHashBuilder> = values.iter().map(Vec::as_slice).collect();
            (0..cells)
                .map(|i| u8::from(values.contains(trimmed(column, i)) != *negated))
                .collect()
        }
    };
    out.resize(cells, 0);
    out
}

/// A cell's bytes; without the zeros that pad it, where cells are of fixed size.
fn trimmed(column: &Column, i: usize) -> &[u8] {
    let cell = column.cell(i);
    if column.cell.is_var() {
        return cell;
    }
    let padding = cell.iter().rev().take_while(|&&b| b == 0).count();
    cell.get(..cell.len() - padding).unwrap_or(cell)
}

/// Whether each number is one of `values`; or, if negated, none of them. By bytes, as libtiledb does it: 0.0 is
/// not in (-0.0), and a NaN may be among the values. `T` is any type of the numbers' size.
fn one_of<T: Pod + Eq + Into<u64>>(data: &[u8], values: &[Scalar], negated: bool) -> Vec<u8> {
    let (cells, values) = (typed::<T>(data), values.iter().filter_map(number::<T>));
    if values.size_hint().1.is_some_and(|n| n <= FEW) {
        let values: Vec<T> = values.collect();
        return cells.iter().map(|v| u8::from(values.contains(v) != negated)).collect();
    }
    let values: HashSet<u64, DefaultHashBuilder> = values.map(Into::into).collect();
    let is_one = |v: &T| values.contains(&(*v).into());
    cells.iter().map(|v| u8::from(is_one(v) != negated)).collect()
}

/// So many numbers are compared in less time than one is hashed.
const FEW: usize = 8;

fn number<T: Pod>(value: &Scalar) -> Option<T> {
    bytemuck::try_pod_read_unaligned(&value.to_le_bytes()).ok()
}

fn compare_numbers<T: PartialOrd + Copy>(values: &[T], op: CompareOp, v: T) -> Vec<u8> {
    let each = |test: fn(&T, &T) -> bool| values.iter().map(|x| u8::from(test(x, &v))).collect();
    match op {
        CompareOp::Lt => each(T::lt),
        CompareOp::Le => each(T::le),
        CompareOp::Gt => each(T::gt),
        CompareOp::Ge => each(T::ge),
        CompareOp::Eq => each(T::eq),
        CompareOp::Ne => each(T::ne),
    }
}

fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::datatype::{CellCount, Datatype};
    use crate::format::condition::StoredCondition;
    use crate::format::domain::Dimension;
    use crate::format::enumeration::Enumeration;
    use crate::format::schema::{ArrayType, Attribute, Schema};
    use crate::query::Condition;
    use crate::query::condition::{bind, bind_stored};

    fn columns() -> Vec<(&'static str, Column)> {
        vec![
            (
                "i",
                Column::from_values(Datatype::Int32, &[1, 2, 3, 4]).with_validity(vec![1, 1, 0, 1]),
            ),
            ("u", Column::from_values(Datatype::Uint8, &[0_u8, 1, 2, 255])),
            (
                "f",
                Column::from_values(Datatype::Float32, &[0.1_f32, f32::NAN, -1.0, 2.5]),
            ),
            ("s", Column::from_cells(Datatype::StringUtf8, ["a", "bb", "", "\u{e9}"])),
            (
                "c",
                Column {
                    cell: CellCount::Fixed(2),
                    ..Column::from_values(Datatype::Char, b"ab\0\0c\0dd")
                },
            ),
            ("t", Column::from_values(Datatype::DatetimeDay, &[0_i64, 30, 31, 365])),
            ("e", Column::from_values(Datatype::Uint8, &[0_u8, 1, 2, 1])),
        ]
    }

    fn holds_for(text: &str) -> Result<Vec<u8>, String> {
        let columns = columns();
        let attributes = columns.iter().map(|(n, c)| Attribute {
            nullable: c.validity.is_some(),
            enumeration: (*n == "e").then(|| "colours".into()),
            ..Attribute::new(n, c.datatype, c.cell)
        });
        let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("d")], attributes.collect());
        let values = Column::from_cells(Datatype::StringAscii, ["red", "green", "blue"]);
        let e = Enumeration {
            name: "colours".into(),
            file: String::new(),
            ordered: text.contains("ordered"),
            values,
        };
        let text = text.replace("ordered", "");
        let condition: Condition = text.parse().map_err(|e: crate::Error| e.to_string())?;
        let bound =
            bind(&condition, &schema, &BTreeMap::from([("colours".into(), Arc::new(e))])).map_err(|e| e.to_string())?;
        let find = |name: &str| {
            columns
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, column)| TestColumn { column, present: None })
        };
        Ok(evaluate(&bound, 4, &find))
    }

    #[track_caller]
    fn check(text: &str, expect: [u8; 4]) {
        assert_eq!(holds_for(text).as_deref(), Ok(&expect[..]), "{text}");
    }

    #[test]
    fn a_null_fails_every_comparison_and_its_opposite() {
        check("i > 2", [0, 0, 0, 1]);
        check("not i > 2", [1, 1, 0, 0]);
        check("i != 7", [1, 1, 0, 1]);
        check("i not in (1)", [0, 1, 0, 1]);
        check("i is null", [0, 0, 1, 0]);
        check("i is not null or u == 2", [1, 1, 1, 1]);
    }

    #[test]
    fn a_stored_test_of_null_has_no_value() {
        let columns = columns();
        let schema = Schema::new(
            ArrayType::Sparse,
            vec![Dimension::string("d")],
            columns
                .iter()
                .map(|(n, c)| Attribute::new(n, c.datatype, c.cell))
                .collect(),
        );
        let kept = |field: &str, op| {
            let stored = StoredCondition::Compare {
                field: field.into(),
                op,
                value: Vec::new(),
            };
            let find = |name: &str| {
                let (_, column) = columns.iter().find(|(n, _)| *n == name)?;
                Some(TestColumn { column, present: None })
            };
            bind_stored(&stored, &schema)
                .map(|b| evaluate(&b, 4, &find))
                .map_err(|e| e.to_string())
        };
        assert_eq!(kept("i", CompareOp::Eq), Ok(vec![0, 0, 1, 0]));
        assert_eq!(kept("i", CompareOp::Ne), Ok(vec![1, 1, 0, 1]));
        assert_eq!(kept("s", CompareOp::Eq), Ok(vec![0, 0, 1, 0]), "an empty string");
        assert!(kept("i", CompareOp::Lt).is_err());
        let gone = kept("gone", CompareOp::Eq).unwrap_err();
        assert!(
            gone.contains("'gone', which the array does not have at this time"),
            "{gone}"
        );
    }

    #[test]
    fn stored_tests_of_fixed_text_are_those_of_libtiledb() {
        let cells = |datatype| Column {
            cell: CellCount::Fixed(2),
            ..Column::from_values(datatype, b"a\0abba\xff\0")
        };
        let kept = |datatype, op, value: &[u8]| {
            let column = cells(datatype);
            let attribute = Attribute::new("t", datatype, column.cell);
            let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("d")], vec![attribute]);
            let stored = StoredCondition::Compare {
                field: "t".into(),
                op,
                value: value.to_vec(),
            };
            let bound = bind_stored(&stored, &schema).unwrap();
            let found = TestColumn {
                column: &column,
                present: None,
            };
            evaluate(&bound, 4, &|_| Some(found))
        };
        assert_eq!(
            kept(Datatype::Char, CompareOp::Eq, b"abc"),
            [1, 1, 0, 0],
            "the first byte"
        );
        assert_eq!(kept(Datatype::Char, CompareOp::Lt, b"b"), [1, 1, 0, 1], "with its sign");
        assert_eq!(
            kept(Datatype::StringAscii, CompareOp::Eq, b"a\0"),
            [1, 0, 0, 0],
            "with its padding"
        );
        assert_eq!(kept(Datatype::StringUtf8, CompareOp::Ge, b"ab"), [0, 1, 1, 1]);
    }

    #[test]
    fn literals_that_the_type_cannot_hold() {
        check("u < 300", [1, 1, 1, 1]);
        check("u > -1 and i < 1e30", [1, 1, 0, 1]);
        check("u >= 300", [0, 0, 0, 0]);
        check("u > 0.5", [0, 1, 1, 1]);
        check("u <= 1.5", [1, 1, 0, 0]);
        check("u == 1.5", [0, 0, 0, 0]);
        check("u != 1.5", [1, 1, 1, 1]);
        check("u in (1.5, 2, 256)", [0, 0, 1, 0]);
        check("f == 0.1", [1, 0, 0, 0]);
    }

    #[test]
    fn nan_is_unequal_to_everything() {
        check("f != 2.5", [1, 1, 1, 0]);
        check("f < 9", [1, 0, 1, 1]);
        check("f == nan", [0, 0, 0, 0]);
    }

    fn floats(test: &Test) -> Vec<u8> {
        let column = Column::from_values(Datatype::Float64, &[0.0, -0.0, f64::NAN, 1.5]);
        let bound = Bound::Test("f".into(), test.clone());
        evaluate(&bound, 4, &|_| {
            Some(TestColumn {
                column: &column,
                present: None,
            })
        })
    }

    #[test]
    fn floats_are_among_others_by_their_bytes() {
        let among = |values: &[f64], negated| {
            floats(&Test::Numbers(
                values.iter().map(|&v| Scalar::F64(v)).collect(),
                negated,
            ))
        };
        assert_eq!(among(&[-0.0, 1.5], false), [0, 1, 0, 1]);
        assert_eq!(among(&[-0.0], true), [1, 0, 1, 1]);
        assert_eq!(among(&[f64::NAN], false), [0, 0, 1, 0]);
        assert_eq!(floats(&Test::Number(CompareOp::Eq, Scalar::F64(-0.0))), [1, 1, 0, 0]);
    }

    #[test]
    fn long_lists_are_tested_as_short_ones() {
        // Others that no cell has make the list long.
        let among = |list: &str, others: &str| (format!("{list})"), format!("{list}, {others})"));
        let numbers = "90, 91, 92, 93, 94, 95, 96, 97, 98";
        for (field, expect) in [("i in (1, 4", [1, 0, 0, 1]), ("i not in (1, 4", [0, 1, 0, 0])] {
            let (short, long) = among(field, numbers);
            check(&short, expect);
            check(&long, expect);
        }
        for (field, expect) in [
            ("u in (0, 255", [1, 0, 0, 1]),
            ("f in (0.1, 2.5", [1, 0, 0, 1]),
            ("f not in (0.1, 2.5", [0, 1, 1, 0]),
        ] {
            let (short, long) = among(field, numbers);
            check(&short, expect);
            check(&long, expect);
        }
        let (short, long) = among("s in ('', 'bb'", "'A', 'aa', 'b', 'bbb', 'B', 'c', 'd', 'e', 'f'");
        check(&short, [0, 1, 1, 0]);
        check(&long, [0, 1, 1, 0]);
        check("c not in ('c', 'dd', 'x', 'y', 'z', 'v', 'w', 'q', 'r')", [1, 1, 0, 0]);
        let all: Vec<f64> = (10..20).map(f64::from).chain([-0.0, f64::NAN]).collect();
        let test = Test::Numbers(all.into_iter().map(Scalar::F64).collect(), false);
        assert_eq!(floats(&test), [0, 1, 1, 0], "by their bytes");
    }

    #[test]
    fn unknown_values_of_an_enumeration_are_not_unequal_to_nulls() {
        let attribute = Attribute {
            nullable: true,
            enumeration: Some("e".into()),
            ..Attribute::new("n", Datatype::Uint8, CellCount::ONE)
        };
        let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("d")], vec![attribute]);
        let e = Enumeration {
            name: "e".into(),
            file: String::new(),
            ordered: false,
            values: Column::from_cells(Datatype::StringAscii, ["red"]),
        };
        let column = Column::from_values(Datatype::Uint8, &[0_u8, 0]).with_validity(vec![1, 0]);
        for text in [
            "n != 'grey'",
            "n not in ('grey')",
            "not n == 'grey'",
            "not n in ('grey')",
        ] {
            let known = BTreeMap::from([("e".into(), Arc::new(e.clone()))]);
            let bound = bind(&text.parse().unwrap(), &schema, &known).unwrap();
            let find = |_: &str| {
                Some(TestColumn {
                    column: &column,
                    present: None,
                })
            };
            assert_eq!(evaluate(&bound, 2, &find), [1, 0], "{text}");
        }
    }

    #[test]
    fn a_field_that_is_absent_takes_back_what_was_found_before() {
        let column = Column::from_values(Datatype::Int32, &[1, 1]);
        let test = |field: &str, v| Bound::Test(field.into(), Test::Number(CompareOp::Eq, Scalar::I32(v)));
        let find = |name: &str| {
            Some(TestColumn {
                column: &column,
                present: (name == "late").then_some(&[1, 0][..]),
            })
        };
        assert_eq!(
            evaluate(&Bound::Or(vec![test("a", 1), test("late", 2)]), 2, &find),
            [1, 0]
        );
        assert_eq!(
            evaluate(&Bound::Or(vec![test("late", 2), test("a", 1)]), 2, &find),
            [1, 1]
        );
        let inner = Bound::Or(vec![test("a", 2), test("late", 2)]);
        assert_eq!(evaluate(&Bound::Or(vec![test("a", 1), inner]), 2, &find), [1, 0]);
        assert_eq!(
            evaluate(&Bound::And(vec![test("a", 1), test("late", 1)]), 2, &find),
            [1, 0]
        );
    }

    #[test]
    fn strings_compare_by_bytes_and_padding_does_not_count() {
        check("s >= 'b'", [0, 1, 0, 1]);
        check("s in ('', 'a')", [1, 0, 1, 0]);
        check("c == 'c'", [0, 0, 1, 0]);
        check("c == ''", [0, 1, 0, 0]);
    }

    #[test]
    fn dates_may_name_a_period() {
        check("t == '1970-01'", [1, 1, 0, 0]);
        check("t > '1970'", [0, 0, 0, 1]);
        check("t in ('1970-02', '1971')", [0, 0, 1, 1]);
        check("t < 31", [1, 1, 0, 0]);
    }

    #[test]
    fn dates_finer_than_the_field_lie_between_its_values() {
        // Day 31 is 1970-02-01.
        for (op, expect) in [
            ("==", [0, 0, 0, 0]),
            ("!=", [1, 1, 1, 1]),
            ("<", [1, 1, 1, 0]),
            ("<=", [1, 1, 1, 0]),
            (">", [0, 0, 0, 1]),
            (">=", [0, 0, 0, 1]),
        ] {
            check(&format!("t {op} '1970-02-01T12:00'"), expect);
        }
        check("t >= '1970-02-01T00:00'", [0, 0, 1, 1]);
        check("t in ('1970-02-01T12:00', '1970-02-01')", [0, 0, 1, 0]);
        check("t not in ('1970-02-01T12:00')", [1, 1, 1, 1]);
    }

    #[test]
    fn enumerations_are_asked_by_value() {
        check("e == 'green'", [0, 1, 0, 1]);
        check("e in ('red', 'grey')", [1, 0, 0, 0]);
        check("e == 'grey'", [0; 4]);
        check("e != 'grey'", [1; 4]);
        check("e not in ('grey')", [1; 4]);
        check("ordered e > 'red'", [0, 1, 1, 1]);
        assert!(holds_for("e > 'red'").unwrap_err().contains("no order"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(holds_for("x == 1").unwrap_err().contains("the fields are d, i, u"));
        assert!(
            holds_for("i == 'a'")
                .unwrap_err()
                .contains("cannot be compared with a string")
        );
        assert!(holds_for("s == 1").unwrap_err().contains("in quotes"));
    }
}
