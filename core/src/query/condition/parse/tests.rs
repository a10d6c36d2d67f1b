use super::*;

fn compare(field: &str, op: CompareOp, value: impl Into<Scalar>) -> Condition {
    Condition::Compare {
        field: field.into(),
        op,
        value: value.into(),
    }
}

#[track_caller]
fn check(text: &str, expect: Condition) {
    assert_eq!(parse(text).unwrap(), expect);
}

#[track_caller]
fn fails(text: &str, why: &str) {
    let e = parse(text).unwrap_err().to_string();
    assert!(e.contains(why), "{e}");
}

#[test]
fn every_kind_of_comparison_is_parsed() {
    use CompareOp::*;
    check("mag >= 4.5", compare("mag", Ge, 4.5));
    check("x=-3", compare("x", Eq, -3_i64));
    check("18446744073709551615 <> `my field`", compare("my field", Ne, u64::MAX));
    check("1e3 < x", compare("x", Gt, 1000.0));
    check("place != 'O''Higgins'", compare("place", Ne, "O'Higgins"));
    check("ok == true", compare("ok", Eq, 1_i64));
}

#[test]
fn and_binds_tighter_than_or_and_not_tightest() {
    use CompareOp::*;
    let (a, b, c) = (
        compare("a", Lt, 1_i64),
        compare("b", Gt, 2_i64),
        compare("c", Eq, 3_i64),
    );
    check(
        "a < 1 or not b > 2 and c = 3",
        Condition::Or(vec![
            a.clone(),
            Condition::And(vec![Condition::Not(Box::new(b.clone())), c.clone()]),
        ]),
    );
    check(
        "(a < 1 || b > 2) && c == 3",
        Condition::And(vec![Condition::Or(vec![a, b]), c]),
    );
}

#[test]
fn lists_and_nulls_are_parsed() {
    let list = |negated| Condition::In {
        field: "a".into(),
        values: vec![1_i64.into(), "x".into()],
        negated,
    };
    check("a in (1, 'x')", list(false));
    check("a NOT IN [1, \"x\"]", list(true));
    let null = |negated| Condition::IsNull {
        field: "a".into(),
        negated,
    };
    check("a is null", null(false));
    check("a is not null", null(true));
    check("a != null", null(true));
}

#[test]
fn ranges_and_patterns_are_parsed() {
    use CompareOp::*;
    let both = Condition::And(vec![compare("a", Ge, 1_i64), compare("a", Le, "x")]);
    check("a between 1 and 'x'", both.clone());
    check("a NOT BETWEEN 1 AND 'x'", Condition::Not(Box::new(both.clone())));
    check(
        "a between 1 and 'x' and b = 2",
        Condition::And(vec![both, compare("b", Eq, 2_i64)]),
    );
    let like = |negated| Condition::Like {
        field: "like".into(),
        pattern: "a_%".into(),
        negated,
    };
    check("like like 'a_%'", like(false));
    check("like not like 'a_%'", like(true));
    check("not like like 'a_%'", Condition::Not(Box::new(like(false))));
}

#[test]
fn exported_lists_of_numbers_are_parsed() {
    assert_eq!(numbers("[1, -2.5]").unwrap(), [Scalar::I64(1), Scalar::F64(-2.5)]);
    assert_eq!(numbers("[true,false]").unwrap(), [Scalar::I64(1), Scalar::I64(0)]);
    assert_eq!(numbers("[]").unwrap(), []);
    for wrong in ["", "1, 2", "[1, 2", "[1,]", "[,1]", "[1 2]", "[a]"] {
        assert!(numbers(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn errors_name_the_position() {
    fails("a < ", "a value was expected at character 5");
    fails("a < b", "a number or a quoted string was expected at character 5");
    fails("a 3", "'in' or 'is null' was expected at character 3");
    fails("cell type > 7", "quote unusual names with backquotes");
    fails("(a < 1", "')' was expected at character 7");
    fails("a < 1 b", "'and' or 'or'");
    fails("a < 'x", "never closed");
    fails("", "the name of a field");
    fails(&"(".repeat(1000), "nested");
    fails("a < 1x", "not a number");
    fails(
        "a ilike 'x%'",
        "there is no operator 'ilike'; use <, <=, >, >=, ==, !=, 'in', 'between', 'like'",
    );
    fails(
        "a between 1",
        "'and' and the end of the range were expected at character 12",
    );
    fails("a between 1 or 2", "were expected at character 13");
    fails(
        "a like 3",
        "a pattern in quotes was expected, as in 'a%', at character 8",
    );
    fails("d >= 2020-01-02", "put dates and times in quotes, as in '2020-01-02'");
    fails("d < 2020-01-02T10:00 and a > 1", "as in '2020-01-02T10:00'");
    fails("t < 10:30", "as in '10:30'");
    assert!(parse("a < 1e-5 and a > -3").is_ok());
}

#[test]
fn negation_is_pushed_down() {
    let c = parse("not (a < 1 and b in (2) or c is null)").unwrap();
    let Condition::Not(inner) = c else { panic!() };
    assert_eq!(
        inner.negated(),
        parse("(a >= 1 or b not in (2)) and c is not null").unwrap()
    );
}
