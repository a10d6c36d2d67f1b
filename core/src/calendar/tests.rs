use super::*;

#[track_caller]
fn check(text: &str, datatype: Datatype, expect: Result<(i64, i64), ()>) {
    assert_eq!(parse(text, datatype).map_err(|_| ()), expect, "{text} as {datatype}");
}

#[test]
fn a_coarse_date_means_its_whole_period() {
    check("2020", Datatype::DatetimeDay, Ok((18262, 18262 + 365)));
    check("2020-02", Datatype::DatetimeDay, Ok((18293, 18293 + 28)));
    check("1970-01-01", Datatype::DatetimeHr, Ok((0, 23)));
    check("1970-01-01T00:01", Datatype::DatetimeSec, Ok((60, 119)));
    check("2021", Datatype::DatetimeMonth, Ok((612, 623)));
}

#[test]
fn exact_ticks_of_every_unit() {
    check("1969-12-31", Datatype::DatetimeDay, Ok((-1, -1)));
    check("19700102T0000", Datatype::DatetimeMin, Ok((1440, 1440)));
    check("1970-01-01T00:00:00.5", Datatype::DatetimeMs, Ok((500, 599)));
    check(
        "1970-01-01T00:00:00.000000000000000007Z",
        Datatype::DatetimeAs,
        Ok((7, 7)),
    );
    check("1970-01-09", Datatype::DatetimeWeek, Ok((1, 1)));
    check("0001", Datatype::DatetimeYear, Ok((-1969, -1969)));
}

#[test]
fn utc_offsets_are_applied() {
    check("1970-01-01T01:30+01:00", Datatype::DatetimeMin, Ok((30, 30)));
    check("1970-01-01 00:00:00.5+00:00", Datatype::DatetimeMs, Ok((500, 599)));
    check("1970-01-01T00-0030", Datatype::DatetimeMin, Ok((30, 89)));
    check("2020-01-01T00:30+01", Datatype::DatetimeYear, Ok((49, 49)));
    check("2020-02-29T23:00-01:00", Datatype::DatetimeDay, Ok((18322, 18322)));
    for text in [
        "2020-01-01+01:00",
        "2020-01-01T00+",
        "2020-01-01T00+1",
        "2020-01-01T00+25",
        "2020-01-01T00+01:00:00",
    ] {
        check(text, Datatype::DatetimeMs, Err(()));
    }
}

#[test]
fn rejects_invalid_dates() {
    for text in [
        "",
        "20",
        "2020-13",
        "2021-02-29",
        "2020-01-01T24",
        "2020-01-01T1:2",
        "2020-1-1",
        "x",
        "2020-01T12",
        "2020-01-01T12:3000",
    ] {
        check(text, Datatype::DatetimeMs, Err(()));
    }
    check("2020", Datatype::DatetimeAs, Err(()));
}

#[test]
fn four_digits_are_a_year_and_eight_digits_a_date() {
    let year_2026 = (1_767_225_600_000, 1_798_761_599_999);
    assert_eq!(milliseconds("2026"), Ok(year_2026));
    assert_eq!(milliseconds("20260301"), milliseconds("2026-03-01"));
    assert_eq!(milliseconds("2026-03-01"), Ok((1_772_323_200_000, 1_772_409_599_999)));
    for (text, ms) in [
        ("0", 0),
        ("999", 999),
        ("02000", 2000),
        ("2000ms", 2000),
        ("20260301ms", 20_260_301),
    ] {
        assert_eq!(milliseconds(text), Ok((ms, ms)), "{text}");
    }
    assert_eq!(milliseconds("1767225600000").map(|p| p.0), Ok(year_2026.0));
}

#[test]
fn errors_say_how_to_write_a_time() {
    assert!(milliseconds("-5ms").is_err_and(|e| e.contains("'-5ms' is before 1970")));
    assert!(parse("x", Datatype::DatetimeMs).is_err_and(|e| e.contains("write 2020, ")));
    for text in ["x", "", "20-20", "ms", "1.5ms"] {
        let why = milliseconds(text).unwrap_err();
        assert!(
            why.contains("write 2020, ") && why.ends_with("or milliseconds since 1970 as a number"),
            "{why}"
        );
    }
    for (text, words) in [
        ("1969-12-31", "'1969-12-31' is before 1970"),
        (
            "1500",
            "'1500' is before 1970; write 1500ms for milliseconds since 1970",
        ),
        (
            "20261301",
            "'20261301' is not a date; write 20261301ms for milliseconds since 1970",
        ),
        (
            "202603",
            "'202603' may mean a month; write 2026-03, or 202603ms for milliseconds since 1970",
        ),
        ("99999999999999999999", "'99999999999999999999' is too large"),
    ] {
        assert_eq!(milliseconds(text), Err(words.to_owned()));
    }
}

#[test]
fn formatted_milliseconds_parse_back() {
    for ms in [
        0,
        5,
        1000,
        1970,
        2026,
        9999,
        10_000,
        202_603,
        20_260_301,
        99_999_999,
        1_767_225_600_000,
        u64::MAX,
    ] {
        assert_eq!(milliseconds(&format_milliseconds(ms)), Ok((ms, ms)));
    }
}

#[test]
fn formats_like_numpy() {
    // The output of `np.datetime64(v, unit)`.
    for (v, t, expect) in [
        (50, Datatype::DatetimeYear, "2020"),
        (-1, Datatype::DatetimeMonth, "1969-12"),
        (1, Datatype::DatetimeWeek, "1970-01-08"),
        (18321, Datatype::DatetimeDay, "2020-02-29"),
        (-1, Datatype::DatetimeHr, "1969-12-31T23:00"),
        (1_582_934_400_123, Datatype::DatetimeMs, "2020-02-29T00:00:00.123"),
        (-1, Datatype::DatetimeNs, "1969-12-31T23:59:59.999999999"),
        (i64::MIN, Datatype::DatetimeSec, "NaT"),
        (12, Datatype::TimeHr, "12"),
    ] {
        assert_eq!(format(v, t), expect);
    }
}

#[test]
fn formatted_dates_parse_back() {
    for t in Datatype::ALL.iter().filter(|t| t.is_datetime()) {
        let far = [i64::MIN + 1, -(1 << 60), 1 << 62, i64::MAX, 20_200_131 - 1970];
        for v in [-719_000, -1, 0, 1, 59, 365, 100_000].into_iter().chain(far) {
            let text = format(v, *t);
            assert_eq!(parse(&text, *t), Ok((v, v)), "{text} as {t}");
        }
    }
}

#[test]
fn periods_shorter_than_the_unit_may_contain_no_tick() {
    let starts = |text, datatype| starts(text, datatype).unwrap();
    assert_eq!(starts("2020-06-15", Datatype::DatetimeYear), (51, 50));
    assert_eq!(starts("2020-01-01", Datatype::DatetimeYear), (50, 50));
    assert_eq!(starts("2020-01-02", Datatype::DatetimeMonth), (601, 600));
    assert_eq!(starts("2020-01", Datatype::DatetimeMonth), (600, 600));
    // Weeks start on Thursdays.
    assert_eq!(starts("1970-01-08", Datatype::DatetimeWeek), (1, 1));
    assert_eq!(starts("1970-01", Datatype::DatetimeWeek), (0, 4));
    assert_eq!(starts("1969-12-31", Datatype::DatetimeWeek), (0, -1));
    assert_eq!(starts("1969-12-31T23:59:59.5", Datatype::DatetimeSec), (0, -1));
    assert_eq!(starts("1969-12-31T23:00", Datatype::DatetimeHr), (-1, -1));
    assert_eq!(starts("1970-01-01T00:00:00.5", Datatype::DatetimeMs), (500, 599));
}
