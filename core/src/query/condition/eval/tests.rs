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
        (
            "h",
            Column::from_values(Datatype::Float32, &[f32::INFINITY, f32::NEG_INFINITY, 3e38, f32::NAN]),
        ),
        ("s", Column::from_cells(Datatype::StringUtf8, ["a", "bb", "", "\u{e9}"])),
        (
            "c",
            Column {
                cell: CellCount::Fixed(2),
                ..Column::from_values(Datatype::Char, b"ab\0\0c\0dd")
            },
        ),
        ("b", Column::from_values(Datatype::Char, b"_c\xc4\0")),
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
fn nulls_fail_every_comparison_and_its_opposite() {
    check("i > 2", [0, 0, 0, 1]);
    check("not i > 2", [1, 1, 0, 0]);
    check("i != 7", [1, 1, 0, 1]);
    check("i not in (1)", [0, 1, 0, 1]);
    check("i is null", [0, 0, 1, 0]);
    check("i is not null or u == 2", [1, 1, 1, 1]);
}

#[test]
fn ranges_and_patterns_test_text_and_numbers() {
    check("i between 2 and 3", [0, 1, 0, 0]);
    check("i not between 2 and 3", [1, 0, 0, 1]);
    check("t between '1970-01-31' and '1970'", [0, 1, 1, 0]);
    check("s like 'b%'", [0, 1, 0, 0]);
    check("s not like 'b%'", [1, 0, 1, 1]);
    check("s like '_'", [1, 0, 0, 1]);
    check("s like '%'", [1, 1, 1, 1]);
    check("s like ''", [0, 0, 1, 0]);
    check("c like '%b'", [1, 0, 0, 0]);
    check("c like 'c%'", [0, 0, 1, 0]);
    check("c not like 'c_'", [1, 1, 1, 1]);
    check("e like '%e%'", [1, 1, 1, 1]);
    check("e like 'gr__n'", [0, 1, 0, 1]);
    check("e not like 'x%'", [1, 1, 1, 1]);
    let why = holds_for("i like '1%'").unwrap_err();
    assert!(why.contains("'i' holds int32, and 'like' tests text"), "{why}");
}

#[test]
fn stored_null_tests_have_no_value() {
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
fn stored_tests_of_fixed_text_match_libtiledb() {
    let cells = |datatype| Column {
        cell: CellCount::Fixed(2),
        ..Column::from_values(datatype, b"a\0abba\xff\0")
    };
    let kept_by = |datatype, stored: StoredCondition| {
        let column = cells(datatype);
        let attribute = Attribute::new("t", datatype, column.cell);
        let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("d")], vec![attribute]);
        let bound = bind_stored(&stored, &schema).unwrap();
        let found = TestColumn {
            column: &column,
            present: None,
        };
        evaluate(&bound, 4, &|_| Some(found))
    };
    let kept = |datatype, op, value: &[u8]| {
        let (field, value) = ("t".into(), value.to_vec());
        kept_by(datatype, StoredCondition::Compare { field, op, value })
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
    for (negated, expected) in [(false, [1, 0, 1, 0]), (true, [0, 1, 0, 1])] {
        let (field, values) = ("t".into(), vec![b"a\0".to_vec(), b"ba".to_vec()]);
        let list = StoredCondition::In { field, negated, values };
        assert_eq!(kept_by(Datatype::StringAscii, list), expected, "lists hold whole cells");
    }
}

#[test]
fn literals_outside_the_type_are_handled() {
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
fn a_literal_beyond_float32_is_not_its_infinity() {
    for (test, expect) in [
        ("== 1e39", [0, 0, 0, 0]),
        ("!= 1e39", [1, 1, 1, 1]),
        ("> 1e39", [1, 0, 0, 0]),
        (">= 1e39", [1, 0, 0, 0]),
        ("< 1e39", [0, 1, 1, 0]),
        ("<= 1e39", [0, 1, 1, 0]),
        ("> -1e39", [1, 0, 1, 0]),
        (">= -1e39", [1, 0, 1, 0]),
        ("< -1e39", [0, 1, 0, 0]),
        ("<= -1e39", [0, 1, 0, 0]),
        ("in (1e39, 3e38)", [0, 0, 1, 0]),
        ("not in (-1e39, 3e38)", [1, 1, 0, 1]),
        ("== inf", [1, 0, 0, 0]),
        ("<= -inf", [0, 1, 0, 0]),
    ] {
        check(&format!("h {test}"), expect);
    }
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
fn lists_compare_floats_by_value_and_deletes_by_bytes() {
    let list = |values: &[f64]| values.iter().map(|&v| Scalar::F64(v)).collect::<Vec<_>>();
    let among = |values: &[f64], negated| floats(&Test::Numbers(list(values), negated));
    assert_eq!(among(&[-0.0, 1.5], false), [1, 1, 0, 1]);
    assert_eq!(among(&[-0.0], true), [0, 0, 1, 1]);
    assert_eq!(among(&[0.0], false), [1, 1, 0, 0]);
    assert_eq!(among(&[-f64::NAN], false), [0, 0, 1, 0], "all NaNs are equal");
    let stored = |values: &[f64], negated| floats(&Test::NumberBytes(list(values), negated));
    assert_eq!(stored(&[-0.0, 1.5], false), [0, 1, 0, 1]);
    assert_eq!(stored(&[-0.0], true), [1, 0, 1, 1]);
    assert_eq!(stored(&[f64::NAN], false), [0, 0, 1, 0]);
    assert_eq!(floats(&Test::Number(CompareOp::Eq, Scalar::F64(-0.0))), [1, 1, 0, 0]);
}

#[test]
fn long_lists_are_tested_like_short_ones() {
    // Values that no cell has make the list long.
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
    assert_eq!(floats(&test), [1, 1, 1, 0], "by their values");
}

#[test]
fn nulls_fail_comparisons_with_unknown_enumeration_values() {
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
fn absent_fields_discard_earlier_alternatives() {
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
fn strings_compare_by_bytes_without_padding() {
    check("s >= 'b'", [0, 1, 0, 1]);
    check("s in ('', 'a')", [1, 0, 1, 0]);
    check("c == 'c'", [0, 0, 1, 0]);
    check("c == ''", [0, 1, 0, 0]);
    check("c == 'c\0'", [0, 0, 1, 0]);
    check("c <= 'ab\0'", [1, 1, 0, 0]);
    check("c in ('ab', 'c\0', '\0\0')", [1, 1, 1, 0]);
    check("c not in ('c\0')", [1, 1, 0, 1]);
}

#[test]
fn single_chars_compare_as_signed() {
    check("b > 'a'", [0, 1, 0, 0]);
    check("b <= 'a'", [1, 0, 1, 1]);
    check("b != 'c'", [1, 0, 1, 1]);
    check("b == ''", [0, 0, 0, 1]);
    check("b == '\0'", [0, 0, 0, 1]);
    check("b > '\0'", [1, 1, 0, 0]);
    check("b in ('\0', 'c')", [0, 1, 0, 1]);
}

#[test]
fn dates_may_name_a_period() {
    check("t == '1970-01'", [1, 1, 0, 0]);
    check("t > '1970'", [0, 0, 0, 1]);
    check("t in ('1970-02', '1971')", [0, 0, 1, 1]);
    check("t < 31", [1, 1, 0, 0]);
}

#[test]
fn nat_satisfies_only_ne() {
    let column = Column::from_values(Datatype::DatetimeDay, &[i64::MIN, -1, 0, 400]);
    let schema = Schema::new(
        ArrayType::Sparse,
        vec![Dimension::string("d")],
        vec![Attribute::new("t", column.datatype, column.cell)],
    );
    for (text, expect) in [
        ("t < '1970'", [0, 1, 0, 0]),
        ("t <= '1970'", [0, 1, 1, 0]),
        ("t > '1970'", [0, 0, 0, 1]),
        ("t < 7", [0, 1, 1, 0]),
        ("t <= 1e30", [0, 1, 1, 1]),
        ("t >= -9223372036854775808", [0, 0, 0, 0]),
        ("t != '1970'", [1, 1, 0, 1]),
        ("not t >= '1970'", [0, 1, 0, 0]),
        ("t == 'NaT'", [0, 0, 0, 0]),
        ("t != 'NaT'", [1, 1, 1, 1]),
        ("t in ('NaT', '1970-01-01')", [1, 0, 1, 0]),
        ("t not in ('nat')", [0, 1, 1, 1]),
    ] {
        let bound = bind(&text.parse().unwrap(), &schema, &BTreeMap::new()).unwrap();
        let find = |_: &str| {
            Some(TestColumn {
                column: &column,
                present: None,
            })
        };
        assert_eq!(evaluate(&bound, 4, &find), expect, "{text}");
    }
}

#[test]
fn nat_of_times_satisfies_only_ne() {
    let column = Column::from_values(Datatype::TimeMin, &[i64::MIN, -1, 0, 400]);
    let schema = Schema::new(
        ArrayType::Sparse,
        vec![Dimension::string("d")],
        vec![Attribute::new("t", column.datatype, column.cell)],
    );
    let bound = |text: &str| bind(&text.parse().unwrap(), &schema, &BTreeMap::new());
    for (text, expect) in [
        ("t < 7", [0, 1, 1, 0]),
        ("t != 0", [1, 1, 0, 1]),
        ("t == 'NaT'", [0, 0, 0, 0]),
        ("t in ('NaT', 0)", [1, 0, 1, 0]),
    ] {
        let find = |_: &str| {
            Some(TestColumn {
                column: &column,
                present: None,
            })
        };
        assert_eq!(evaluate(&bound(text).unwrap(), 4, &find), expect, "{text}");
    }
    assert!(bound("t == '1970'").is_err());
}

#[test]
fn dates_may_be_finer_than_the_field() {
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
fn enumerations_are_tested_by_value() {
    check("e == 'green'", [0, 1, 0, 1]);
    check("e in ('red', 'grey')", [1, 0, 0, 0]);
    check("e == 'grey'", [0; 4]);
    check("e != 'grey'", [1; 4]);
    check("e not in ('grey')", [1; 4]);
    check("ordered e > 'red'", [0, 1, 1, 1]);
    assert!(holds_for("e > 'red'").unwrap_err().contains("no order"));
}

#[test]
fn mistakes_are_reported() {
    assert!(holds_for("x == 1").unwrap_err().contains("the fields are d, i, u"));
    assert!(
        holds_for("i == 'a'")
            .unwrap_err()
            .contains("cannot be compared with a string")
    );
    assert!(holds_for("s == 1").unwrap_err().contains("in quotes"));
}
