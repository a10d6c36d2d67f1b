//! `publish`: the folder that it writes, as a static host serves it.

use serde_json::{Value, json};

use crate::failing::check;
use crate::viewing::{shell, shell_with_overviews_at};
use crate::{Shell, int16s, npy};

/// The names of the entries of a folder.
fn names(shell: &Shell, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(shell.path(folder)).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn publish(source: &str) -> String {
    format!("publish {source} site --viewer page")
}

#[test]
fn a_site_has_the_viewer_the_data_and_how_to_serve_it() {
    let shell = shell();
    shell.file("data/a b/.hidden", "hidden");
    shell.ok("import in.npy data/other");
    let told = shell.ok(&publish("'data/a b'"));
    assert!(
        told.starts_with("site: data: ") && told.contains("names: a b.2; site/README.txt"),
        "{told}"
    );
    let all = [
        ".hyperslab-site.json",
        ".nojekyll",
        "README.txt",
        "arrays.json",
        "data",
        "hyperslab",
        "index.html",
        "main.js",
    ];
    assert_eq!(names(&shell, "site"), all);
    assert_eq!(names(&shell, "site/data"), ["a b", "a b.2"]);
    assert_eq!(shell.bytes("site/hyperslab/core.wasm"), b"\0asm");
    assert!(!names(&shell, "site/data/a b").contains(&".hidden".to_owned()));
    for array in ["a b", "a b.2"] {
        let manifest: Value =
            serde_json::from_slice(&shell.bytes(&format!("site/data/{array}/__manifest.json"))).unwrap();
        assert!(manifest["files"].as_object().unwrap().len() > 3, "{manifest}");
    }
    let about = "Dense, 4 × 4: height int16; array with overviews";
    let listed: Value = serde_json::from_slice(&shell.bytes("site/arrays.json")).unwrap();
    assert_eq!(listed, json!([{"title": "a b", "url": "data/a%20b", "about": about}]));
    let readme = String::from_utf8(shell.bytes("site/README.txt")).unwrap();
    assert!(
        readme.contains("206") && readme.contains("application/wasm"),
        "{readme}"
    );
}

#[test]
fn only_arrays_next_to_the_array_are_published() {
    let shell = shell_with_overviews_at(&["../private/small", "../private", "../private/nothing"]);
    shell.ok(&publish("'data/a b'"));
    assert_eq!(names(&shell, "site/data"), ["a b", "private"]);
    assert_eq!(names(&shell, "site/data/private"), ["small"]);
    shell.ok("info site/data/private/small");
}

#[cfg(feature = "object-store")]
#[test]
fn a_published_group_is_read_over_http() {
    let shell = shell();
    shell.ok("group create data/g");
    shell.ok("import in.npy data/g/first");
    shell.ok("group add data/g data/g/first");
    let json: Value = serde_json::from_str(&shell.ok(&(publish("data/g") + " --json"))).unwrap();
    assert_eq!((&json["site"], &json["source"]), (&json!("site"), &json!("data/g")));
    assert!(
        json["files"].as_u64().unwrap() > 3 && json["bytes"].as_u64().unwrap() > 0,
        "{json}"
    );
    let server = crate::serving::start(&shell, "serve site --port 0");
    let read = shell.pipe(
        &format!("export http://{}/data/g/first - --format npy", server.address),
        b"",
    );
    assert_eq!(crate::values(&read), int16s(16));
    assert!(
        shell
            .ok(&format!("group ls http://{}/data/g", server.address))
            .contains("first")
    );
}

#[test]
fn a_site_is_replaced_only_on_request() {
    let shell = shell();
    shell.ok(&publish("'data/a b'"));
    let words = ["already exists", "choose another name"];
    check(&shell, &publish("'data/a b'"), 1, &words);
    shell.file("more.npy", npy("'<i2'", "(4, 4)", &int16s(16)));
    shell.ok("write 'data/a b' more.npy");
    let old = std::fs::read_dir(shell.path("site/data/a b/__commits"))
        .unwrap()
        .count();
    shell.ok(&(publish("'data/a b'") + " --force"));
    assert_eq!((old, names(&shell, "site/data/a b/__commits").len()), (1, 2));
    // An empty folder may be replaced, and a folder that `publish` did not write may not.
    let line = "publish 'data/a b' data/deep --viewer page --force";
    std::fs::create_dir(shell.path("data/deep")).unwrap();
    shell.ok(line);
    std::fs::remove_file(shell.path("data/deep/.hyperslab-site.json")).unwrap();
    check(
        &shell,
        line,
        1,
        &["cannot replace data/deep", "not a site", "choose another folder"],
    );
    assert!(names(&shell, "data/deep").contains(&"main.js".to_owned()));
    // A failed replacement leaves the old site.
    let manifest = shell.bytes("site/arrays.json");
    std::fs::remove_dir_all(shell.path("data/a b/__schema")).unwrap();
    shell.fails(&(publish("'data/a b'") + " --force"));
    assert_eq!(shell.bytes("site/arrays.json"), manifest);
}

#[test]
fn what_publish_did_not_write_is_not_replaced() {
    let shell = shell();
    shell.ok(&publish("'data/a b'"));
    std::fs::create_dir_all(shell.path("site/.git/refs")).unwrap();
    let line = publish("'data/a b'") + " --force";
    for (name, shown) in [
        ("CNAME", "'CNAME'"),
        (".git/refs/main", "'.git'"),
        ("hyperslab/own.js", "'hyperslab/own.js'"),
        ("data/a b/own.csv", "'data/a b/own.csv'"),
    ] {
        shell.file(&format!("site/{name}"), "own");
        check(
            &shell,
            &line,
            1,
            &["cannot replace site", shown, "would be lost", "copy its files"],
        );
        assert_eq!(shell.bytes(&format!("site/{name}")), b"own");
        std::fs::remove_file(shell.path(&format!("site/{name}"))).unwrap();
    }
    // So is a page that was changed, even to the same length.
    let page = shell.bytes("site/main.js");
    shell.file("site/main.js", page.to_ascii_uppercase());
    check(&shell, &line, 1, &["cannot replace site", "'main.js' would be lost"]);
    shell.file("site/main.js", page);
    shell.ok(&line);
    assert_eq!(shell.names().iter().filter(|name| name.contains("part")).count(), 0);
}

#[test]
fn a_changed_list_of_arrays_is_kept() {
    let shell = shell();
    shell.ok(&publish("'data/a b'"));
    let line = publish("'data/a b'") + " --force";
    let own = br#"[{"title": "Heights", "url": "data/a%20b", "about": "mine"}]"#;
    shell.file("site/arrays.json", own);
    for _ in 0..2 {
        let output = shell.run(&line, b"");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && told.contains("arrays.json was changed"),
            "{told}"
        );
        assert_eq!(shell.bytes("site/arrays.json"), own);
    }
    shell.ok("import in.npy data/other");
    let words = ["does not list data/other", "remove the file"];
    check(&shell, &(publish("data/other") + " --force"), 1, &words);
    assert_eq!(names(&shell, "site/data"), ["a b", "a b.2"]);
    std::fs::remove_file(shell.path("site/arrays.json")).unwrap();
    shell.ok(&line);
    assert!(
        String::from_utf8(shell.bytes("site/arrays.json"))
            .unwrap()
            .contains("Dense, 4 × 4")
    );
}

#[cfg(feature = "object-store")]
#[test]
fn a_link_leaves_the_data_where_it_is() {
    let shell = shell();
    let host = crate::serving::start(&shell, "serve data --port 0 --no-viewer");
    let url = format!("http://{}/a%20b", host.address);
    let told = shell.ok(&(publish(&url) + " --link"));
    assert!(told.contains(&format!("the data stays at {url}")), "{told}");
    let listed: Value = serde_json::from_slice(&shell.bytes("site/arrays.json")).unwrap();
    assert_eq!((&listed[0]["url"], &listed[0]["title"]), (&json!(url), &json!("a b")));
    assert!(!names(&shell, "site").contains(&"data".to_owned()));
    let secret = publish(&url.replace("http://", "http://me:password@")).replace(" site", " other") + " --link";
    let (_, error) = shell.fails(&secret);
    assert!(
        error.contains("everyone who opens the page") && !error.contains("me:"),
        "{error}"
    );
}

#[test]
fn errors_of_publish_say_what_to_do() {
    let shell = shell();
    for (line, words) in [
        (
            publish("nothing"),
            ["cannot publish nothing", "there is no array or group", "hyperslab ls"],
        ),
        (
            publish("data"),
            ["cannot publish data", "there is no array or group", "hyperslab ls"],
        ),
        (
            publish("'data/a b'") + " --link",
            ["cannot link to data/a b", "http: and https:", "leave out --link"],
        ),
        (
            "publish 'data/a b' 'data/a b/site' --viewer page".to_owned(),
            [
                "cannot copy data/a b",
                "inside the source",
                "choose another destination",
            ],
        ),
        (
            "publish 'data/a b' s3://bucket/site --viewer page".to_owned(),
            [
                "cannot publish to s3://bucket/site",
                "not a folder of this machine",
                "upload that",
            ],
        ),
    ] {
        check(&shell, &line, 1, &words);
    }
    if cfg!(not(feature = "viewer")) {
        let words = ["cannot publish data", "built without the viewer", "cargo xtask program"];
        check(&shell, "publish data site", 1, &words);
    }
}
