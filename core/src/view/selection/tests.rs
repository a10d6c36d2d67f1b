use super::*;
use crate::datatype::{CellCount, Datatype};
use crate::format::attribute::Attribute;
use crate::format::current_domain::CurrentDomain;
use crate::format::domain::Dimension;
use crate::format::schema::ArrayType;
use crate::scalar::Scalar;

fn schema() -> Schema {
    let dims = vec![
        Dimension::new("x", Datatype::Int32, -10_i32, 99_i32, 10_i32),
        Dimension::new("lat", Datatype::Float64, -90.0, 90.0, 10.0),
        Dimension::new("t", Datatype::DatetimeDay, 0_i64, 40_000_i64, 100_i64),
        Dimension::string("name"),
    ];
    let attr = |n: &str| Attribute::new(n, Datatype::Float32, CellCount::ONE);
    Schema::new(ArrayType::Sparse, dims, vec![attr("temp"), attr("wind,m")])
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let schema = schema();
    let found = parse(text, &schema, None).unwrap();
    assert_eq!(found.text(&schema), expect, "{text}");
    assert_eq!(
        parse(expect, &schema, None).unwrap(),
        found,
        "{expect} is read back as the same selection"
    );
}

#[track_caller]
fn refuse(text: &str, expect: &str) {
    let error = parse(text, &schema(), None).unwrap_err().to_string();
    assert!(error.contains(expect), "{error:?} should contain {expect:?}");
}

const REST: &str = "-90.0:90.0,1970-01-01:2079-07-08,_";

#[test]
fn all_cells_have_many_spellings() {
    for text in ["all", ":", "_", ":,:,_,all", "..", "x=:"] {
        check(text, &format!("-10:100,{REST}"));
    }
}

#[test]
fn an_empty_selection_is_rejected() {
    for text in ["", " "] {
        refuse(text, "the selection is empty; write all for every cell");
    }
    for text in ["x=", ",", "0:10,", "temp@x="] {
        refuse(text, "is empty; write : for the whole dimension");
    }
}

#[test]
fn lists_select_coordinates_and_ranges_in_their_order() {
    check("{5,0,9}", &format!("{{5,0,9}},{REST}"));
    check("x=@{ 0:2 , 5..7, 9:10}", &format!("{{0:2,5:7,9}},{REST}"));
    check("name={b,a%2Cb}", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,{b,a%2Cb}");
    check("lat={1,30:40.5}", "-10:100,{1.0,30.0:40.5},1970-01-01:2079-07-08,_");
    check(
        "t={1970,1972-01-01}",
        "-10:100,-90.0:90.0,{1970-01-01:1970-12-31,1972-01-01},_",
    );
    refuse("{0,5", "write a list as {0,5,9}");
    refuse("{0,{5}}", "write a list as {0,5,9}");
    refuse("{}", "is empty");
    refuse("{0,200}", "outside the domain");
    refuse("{0:9:2}", "without a step");
    refuse("name={a,:}", "a part of a list is");
    let schema = schema();
    let axis = &parse("{5,0:4,90:}", &schema, None).unwrap().axes[0];
    assert_eq!((axis.len(), axis.single), (Some(15), false));
    assert_eq!(axis.range, Some(ScalarRange::new(0, 99)));
    let range = |lo, hi| ScalarRange::new(lo, hi);
    assert_eq!(
        axis.at(&(0..15), Datatype::Int32),
        [range(5, 5), range(0, 3), range(90, 99)]
    );
    assert_eq!(axis.at(&(2..6), Datatype::Int32), [range(1, 3), range(90, 90)]);
    assert_eq!(axis.at(&(7..7), Datatype::Int32), []);
    let axis = &parse("0:10:3", &schema, None).unwrap().axes[0];
    assert_eq!(axis.at(&(1..3), Datatype::Int32), [range(3, 3), range(6, 6)]);
}

#[test]
fn integers_are_half_open_and_do_not_wrap() {
    check("0:10", &format!("0:10,{REST}"));
    check("0..10", &format!("0:10,{REST}"));
    check("-3", &format!("-3,{REST}"));
    check("-10:-3", &format!("-10:-3,{REST}"));
    check("90:", &format!("90:100,{REST}"));
    check("0:10:3", &format!("0:10:3,{REST}"));
    check("0..11..3", &format!("0:10:3,{REST}"));
    check("::50", &format!("-10:91:50,{REST}"));
    refuse("5:5", "selects nothing: ranges are half-open, so 5:6 selects 5");
    refuse("5:3", "selects nothing");
    refuse("0:101", "outside the domain, -10:100");
    refuse("-11", "outside the domain");
    refuse("1.5", "'1.5' is not a 64-bit integer");
    refuse("0:10:0", "'0' is not a valid step");
    refuse("0:10:-1", "'-1' is not a valid step");
    refuse("0:1:2:3", "more than two colons");
    refuse("0...5", "three dots");
    refuse(
        "99999999999999999999999999999999999999999999",
        "is not a 64-bit integer",
    );
    refuse(&format!(":{}", i128::MIN), "is not a 64-bit integer");
}

#[test]
fn reads_clip_integer_ranges_to_the_domain() {
    let schema = schema();
    let read = |text: &str| parse_with(text, &schema, None, Beyond::Clipped).map(|s| s.text(&schema));
    for (text, expect) in [
        ("0:101", "0:100"),
        ("-1000:5", "-10:5"),
        ("-1000:1000", "-10:100"),
        // As in Python, steps count from the first coordinate inside.
        ("-11:0:4", "-10:-1:4"),
        ("99:100000000000000000000", "99:100"),
    ] {
        assert_eq!(read(text).unwrap(), format!("{expect},{REST}"), "{text}");
    }
    for text in ["100:200", "-20:-10", "-11", "100"] {
        let why = read(text).unwrap_err().to_string();
        assert!(why.contains("outside the domain, -10:100 (half-open)"), "{text}: {why}");
    }
}

#[test]
fn floats_are_closed_and_clipped() {
    check("lat=30.0:40", "-10:100,30.0:40.0,1970-01-01:2079-07-08,_");
    check("lat=30.0..40.0", "-10:100,30.0:40.0,1970-01-01:2079-07-08,_");
    check("lat=-1e1", "-10:100,-10.0,1970-01-01:2079-07-08,_");
    check("lat=80:", "-10:100,80.0:90.0,1970-01-01:2079-07-08,_");
    check("lat=80:1000", "-10:100,80.0:90.0,1970-01-01:2079-07-08,_");
    refuse("lat=91:95", "outside the domain, -90.0:90.0 (inclusive)");
    refuse("lat=2:1", "the end is before the start");
    refuse("lat=nan", "is not a number");
    refuse("lat=1:2:3", "cannot have a step");
}

#[test]
fn dates_are_closed_periods() {
    check("t=2020-02", "-10:100,-90.0:90.0,2020-02-01:2020-02-29,_");
    check("t=2020-02-29", "-10:100,-90.0:90.0,2020-02-29,_");
    check("t=2020:2021-01-05", "-10:100,-90.0:90.0,2020-01-01:2021-01-05,_");
    check("t=2020..2020", "-10:100,-90.0:90.0,2020-01-01:2020-12-31,_");
    check("t=:1970-01", "-10:100,-90.0:90.0,1970-01-01:1970-01-31,_");
    check(
        "t=1970-01-01:1970-01-10:7",
        "-10:100,-90.0:90.0,1970-01-01:1970-01-08:7,_",
    );
    refuse("t=tomorrow", "'tomorrow' is not a date; write");
    refuse("t=2020:2019", "the end is before the start");
}

#[test]
fn colons_of_a_time_do_not_split_a_range() {
    let dim = Dimension::new("t", Datatype::DatetimeSec, 0_i64, 86_400_i64, 1_i64);
    let schema = Schema::new(
        ArrayType::Sparse,
        vec![dim],
        vec![Attribute::new("a", Datatype::Int8, CellCount::ONE)],
    );
    let text = |s: &str| parse(s, &schema, None).unwrap().text(&schema);
    assert_eq!(text("1970-01-01T00:00:05"), "1970-01-01T00:00:05");
    assert_eq!(
        text("1970-01-01T00:00:05:1970-01-01T00:01"),
        "1970-01-01T00:00:05:1970-01-01T00:01:59"
    );
    assert_eq!(
        text("1970-01-01T00:01:1970-01-01T00:02:30"),
        "1970-01-01T00:01:00:1970-01-01T00:02:30"
    );
    assert_eq!(
        text("19700101T000005..19700101T000006..1"),
        "1970-01-01T00:00:05:1970-01-01T00:00:06"
    );
}

#[test]
fn strings_are_closed_and_escaped() {
    check("name=a:b", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,a:b");
    check("name=a%3Ab", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,a%3Ab");
    check("name='a:b,c'", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,a%3Ab%2Cc");
    check("name=%61ll", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,%61ll");
    check("name='a '", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,a%20");
    check(
        "name='  a b  ':",
        "-10:100,-90.0:90.0,1970-01-01:2079-07-08,%20 a b %20:",
    );
    check("name=' '", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,%20");
    refuse("name=b:a", "the end is before the start");
    refuse("name='a", "is not closed");
    let open = parse("name=m:", &schema(), None).unwrap();
    assert_eq!(
        open.axes[3].range,
        Some(ScalarRange::new("m", Scalar::Bytes(vec![0xff])))
    );
    check("name=m:", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,m:");
    check("name='':", &format!("-10:100,{REST}"));
    check("name=:m", "-10:100,-90.0:90.0,1970-01-01:2079-07-08,:m");
}

#[test]
fn the_empty_string_does_not_select_everything() {
    let schema = Schema::new(ArrayType::Sparse, vec![Dimension::string("name")], vec![]);
    for text in ["''", "'':''", "'':'a'", "'a'"] {
        let parsed = parse(text, &schema, None).unwrap();
        let again = parse(&parsed.text(&schema), &schema, None).unwrap();
        assert_eq!(again, parsed, "{text}");
    }
}

#[test]
fn strings_may_have_a_current_domain() {
    let mut schema = schema();
    let mut ranges: Vec<_> = schema.dimensions.iter().filter_map(|d| d.domain.clone()).collect();
    ranges.push(ScalarRange::new("b", "d"));
    schema.current_domain = Some(CurrentDomain { ranges });
    let c = parse("name=c", &schema, None).unwrap();
    assert_eq!(c.axes[3].range, Some(ScalarRange::new("c", "c")));
}

#[test]
fn omitted_ends_stop_at_the_current_domain() {
    let mut schema = schema();
    schema.dimensions.truncate(1);
    let ranges = vec![ScalarRange::new(0_i32, 4_i32)];
    schema.current_domain = Some(CurrentDomain { ranges });
    let all = |lo: i32, hi: i32| {
        Selection::all(&schema, Some(&[ScalarRange::new(lo, hi)])).axes[0]
            .range
            .clone()
    };
    assert_eq!(all(2, 9), Some(ScalarRange::new(2_i32, 4_i32)));
    assert_eq!(all(1, 3), Some(ScalarRange::new(1_i32, 3_i32)));
    assert_eq!(all(7, 9), Some(ScalarRange::new(0_i32, 4_i32)));
}

#[test]
fn attributes_come_before_the_at_sign() {
    check("temp@0", &format!("temp@0,{REST}"));
    check("wind%2Cm,temp@", &format!("wind%2Cm,temp@-10:100,{REST}"));
    refuse("temp,temp@", "named twice");
    refuse(
        "nope@0",
        "there is no attribute 'nope'; the attributes are temp, wind,m",
    );
}

#[test]
fn axes_must_exist_and_be_named_once() {
    refuse("0,1,1970-01-01,a,5", "more dimensions than the array has; it has 4");
    refuse("0,x=1", "selected twice");
    refuse(
        "depth=3",
        "there is no dimension 'depth'; the dimensions are x, lat, t, name",
    );
}

#[test]
fn omitted_ends_are_those_of_the_non_empty_domain() {
    let schema = schema();
    let written = vec![
        ScalarRange::new(3_i32, 7_i32),
        ScalarRange::new(1.0, 2.0),
        ScalarRange::new(5_i64, 6_i64),
        ScalarRange::new("a", "b"),
    ];
    let text = |s: &str| parse(s, &schema, Some(&written)).unwrap().text(&schema);
    assert_eq!(text("all"), "3:8,1.0:2.0,1970-01-06:1970-01-07,_");
    assert_eq!(text("0:"), "0:8,1.0:2.0,1970-01-06:1970-01-07,_");
    assert_eq!(text(":99"), "3:99,1.0:2.0,1970-01-06:1970-01-07,_");
}

#[test]
fn extremes_of_the_type_do_not_overflow() {
    let dim = Dimension::new("u", Datatype::Uint64, 0_u64, u64::MAX - 1, 1_u64);
    let schema = Schema::new(
        ArrayType::Dense,
        vec![dim],
        vec![Attribute::new("a", Datatype::Int8, CellCount::ONE)],
    );
    let all = parse("all", &schema, None).unwrap();
    assert_eq!(all.text(&schema), format!("0:{}", u64::MAX));
    assert_eq!(all.shape(), [u64::MAX]);
    assert_eq!(parse("18446744073709551614", &schema, None).unwrap().shape(), [1]);
}

#[test]
fn steps_become_single_coordinates() {
    let schema = schema();
    let region = parse("0:7:3", &schema, None).unwrap().region(&schema).unwrap();
    let points: Vec<_> = [0_i32, 3, 6].map(|v| ScalarRange::new(v, v)).into();
    assert_eq!(region.0[0], points);
    assert_eq!(region.0[3], []);
}

proptest::proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected(text in ".{0,40}") {
        let _ = parse(&text, &schema(), None);
    }

    #[test]
    fn near_misses_are_parsed_or_rejected(text in "[0-9a-z:.,=_@%'T-]{0,30}") {
        let schema = schema();
        if let Ok(found) = parse(&text, &schema, None) {
            let again = parse(&found.text(&schema), &schema, None).unwrap();
            proptest::prop_assert_eq!(found, again);
        }
    }
}

#[test]
fn a_domain_of_dates_may_start_at_not_a_time() {
    let t = Dimension::new("t", Datatype::DatetimeHr, i64::MIN, i64::MIN + 9, 1_i64);
    let a = Attribute::new("a", Datatype::Int8, CellCount::ONE);
    let schema = Schema::new(ArrayType::Dense, vec![t], vec![a]);
    let all = parse("all", &schema, None).unwrap();
    assert_eq!(parse(&all.text(&schema), &schema, None).unwrap(), all);
    assert_eq!(parse("NaT", &schema, None).unwrap().shape(), [1]);
}
