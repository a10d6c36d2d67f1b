//! Tests that `delete --where` removes the cells that `export --where` shows.

use crate::Shell;

/// The lines of an export, without the header.
fn shown(shell: &Shell, array: &str, condition: Option<&str>) -> Vec<String> {
    let test = condition.map_or(String::new(), |c| format!(" --where '{}'", c.replace('\'', "\"")));
    let csv = shell.ok(&format!("export {array} - --format csv{test}"));
    csv.lines().skip(1).map(str::to_owned).collect()
}

/// Deletes from a copy of `array`, and checks the remaining cells.
#[track_caller]
fn check_delete(shell: &Shell, array: &str, condition: &str) {
    shell.ok(&format!("copy {array} copied"));
    let condition = &condition.replace('\'', "\"");
    let hits = shown(shell, array, Some(condition));
    let dry = shell.ok(&format!(
        "delete copied --where '{condition}' --timestamp 500 --dry-run"
    ));
    let counted = format!("copied: {} cells would be deleted\n", hits.len());
    assert!(dry.ends_with(&counted), "{condition}: {dry}");
    assert_eq!(shown(shell, "copied", None), shown(shell, array, None), "{condition}");
    shell.ok(&format!("delete copied --where '{condition}' --timestamp 500"));
    let mut expect = shown(shell, array, None);
    expect.retain(|row| !hits.contains(row));
    assert_eq!(shown(shell, "copied", None), expect, "{condition}");
    shell.ok("consolidate copied");
    assert_eq!(shown(shell, "copied", None), expect, "{condition}, merged");
    std::fs::remove_dir_all(shell.path("copied")).unwrap();
}

/// Creates an array with two fragments. The older one has no `m` and no `n`.
fn evolved(shell: &Shell) {
    shell.file("old.csv", "d,a\n1,1\n2,2\n");
    shell.file("new.csv", "d,a,m,n\n3,3,7,\n4,4,5,6\n");
    shell.ok("import old.csv e --sparse --dims d --domain d=0:9 --timestamp 100");
    shell.ok(r#"evolve e --add-attr '{"name":"m","type":"int64","fill":5}' --add-attr n:int64? --timestamp 200"#);
    shell.ok("write e new.csv --timestamp 300");
}

#[test]
fn conditions_test_the_fill_values_that_exports_show() {
    let shell = Shell::new();
    evolved(&shell);
    let expected: &[(&str, &[&str])] = &[
        ("m == 5", &["1,1,5,", "2,2,5,", "4,4,5,6"]),
        ("a > 1 or m > 100", &["2,2,5,", "3,3,7,", "4,4,5,6"]),
        ("m > 100 or a > 1", &["2,2,5,", "3,3,7,", "4,4,5,6"]),
        ("d == 1 or m == 7 or n == 6", &["1,1,5,", "3,3,7,", "4,4,5,6"]),
        ("n is null", &["1,1,5,", "2,2,5,", "3,3,7,"]),
        ("n is not null or m not in (5)", &["3,3,7,", "4,4,5,6"]),
        ("not (m == 5 and a < 2)", &["2,2,5,", "3,3,7,", "4,4,5,6"]),
    ];
    for merged in [false, true] {
        if merged {
            shell.ok("consolidate e");
        }
        for (condition, rows) in expected {
            assert_eq!(
                shown(&shell, "e", Some(condition)),
                *rows,
                "{condition}, merged: {merged}"
            );
        }
    }
}

#[test]
fn a_delete_removes_the_cells_that_an_export_shows() {
    let shell = Shell::new();
    evolved(&shell);
    shell.file("more.csv", "d,a,m,n\n7,7,,\n");
    for condition in [
        "m == 999",
        "m == 5",
        "m == 5 and a == 2",
        "a > 1 or m > 100",
        "m != 5",
        "m < 7 and d != 1",
        "n == 6",
        "n < 0",
        "n is null",
        "n is not null",
        "n is null and m == 7",
        "n == 6 or n is null and d >= 3",
    ] {
        check_delete(&shell, "e", condition);
    }
    shell.file(
        "kinds.csv",
        "d,n,f,s,t\n0,0,1.5,x,2020-01-01\n1,,nan,,1960-01-01\n2,5,-0.0,y,NaT\n3,,0.0,x,1970-01-01\n4,7,inf,,NaT\n",
    );
    shell.ok("import kinds.csv k --sparse --dims d --timestamp 100");
    for condition in [
        "n == 0",
        "n != 0",
        "n > 100",
        "n in (0, 5)",
        "n not in (0)",
        "n is null",
        "n is not null",
        "f < 1",
        "f >= 1",
        "f != 1.5",
        "f == 0",
        "f in (0)",
        "f not in (0)",
        "f in (nan)",
        "f in (nan, 0)",
        "f not in (nan, 1.5)",
        "s == 'x'",
        "s != 'x'",
        "s is null or f in (0)",
        "t < '1970'",
        "t >= '1970'",
        "t != '1970-01-01'",
        "t in ('NaT')",
        "n == 0 and f > 1 or s == 'y'",
        "n != 1.5",
        "n not in (1.5)",
        "d != 1.5",
        "d < 1e30",
        "f != nan",
        "d == 1.5 or n == 5",
        "d != 1.5 and n == 5",
        "n == 1.5 or f == nan or t > 'NaT' or d == 2",
    ] {
        check_delete(&shell, "k", condition);
    }
}

#[test]
fn negative_zero_equals_zero_and_nat_is_before_no_date() {
    let shell = Shell::new();
    shell.file("in.csv", "d,f,t\n0,-0.0,1969-12-31\n1,0.0,NaT\n2,1.0,1970-01-02\n");
    shell.ok("import in.csv a --sparse --dims d --timestamp 100");
    assert_eq!(shown(&shell, "a", Some("f in (0)")).len(), 2);
    assert_eq!(shown(&shell, "a", Some("f not in (0)")).len(), 1);
    assert_eq!(shown(&shell, "a", Some("f in (-0.0, 7)")).len(), 2);
    assert_eq!(shown(&shell, "a", Some("t < '1970'")).len(), 1);
    assert_eq!(shown(&shell, "a", Some("t != '1969-12-31'")).len(), 2);
}

#[test]
fn a_dry_run_counts_by_fragment() {
    let shell = Shell::new();
    evolved(&shell);
    let dry = shell.ok("delete e --where 'm == 5' --dry-run");
    let counts: Vec<&str> = dry.lines().map(|l| l.rsplit_once(": ").unwrap().1).collect();
    assert_eq!(counts, ["2", "1", "3 cells would be deleted"]);
    assert!(dry.starts_with("__100_100_") && dry.contains("\n__300_300_"), "{dry}");
}

#[test]
fn a_delete_that_the_format_cannot_express_is_refused_with_advice() {
    let shell = Shell::new();
    shell.file("in.csv", "d,n\n1,\n1,3\n");
    shell.ok("import in.csv a --sparse --dims d --timestamp 100");
    let words = ["would remove 1 cells", "`or n is null`", "`and d < VALUE`"];
    crate::failing::check(&shell, "delete a --where 'n == 3'", 1, &words);
    assert_eq!(shown(&shell, "a", None).len(), 2);
    shell.ok("delete a --where 'n == 3 or n is null'");
    assert_eq!(shown(&shell, "a", None).len(), 0);
}

#[test]
fn a_delete_without_matching_cells_changes_nothing() {
    let shell = Shell::new();
    shell.file("in.csv", "d,n,f\n0,1,1.5\n1,2,nan\n");
    shell.ok("import in.csv a --sparse --dims d --domain d=0:9 --timestamp 100");
    shell.ok(r#"evolve a --add-enum '{"name":"colors","type":"string_utf8","cell":"var","values":["red","green"]}' --add-attr '{"name":"color","type":"int8","enumeration":"colors"}' --timestamp 200"#);
    shell.file("more.csv", "d,n,f,color\n2,3,2.5,red\n");
    shell.ok("write a more.csv --timestamp 300");
    let files = || std::fs::read_dir(shell.path("a/__commits")).unwrap().count();
    let before = files();
    for condition in [
        "color == 'purple'",
        "n == 1.5",
        "f == nan",
        "n == 1.5 and d == 1",
        "n is null",
    ] {
        let condition = &condition.replace('\'', "\"");
        assert_eq!(shown(&shell, "a", Some(condition)), [""; 0], "{condition}");
        let told = shell.ok(&format!("delete a --where '{condition}'"));
        assert_eq!(
            told, "a: no cell can meet the condition; nothing was deleted\n",
            "{condition}"
        );
        let dry = shell.ok(&format!("delete a --where '{condition}' --dry-run"));
        assert_eq!(dry, "a: 0 cells would be deleted\n", "{condition}");
    }
    assert_eq!(files(), before);
    for condition in [
        "color == 'purple' or d == 1",
        "color != 'purple' and d == 1",
        "color != 'purple'",
    ] {
        check_delete(&shell, "a", condition);
    }
}
