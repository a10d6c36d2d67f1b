//! `view`, and the viewer of `serve`, with a tiny page in place of the viewer.

use serde_json::{Value, json};

use crate::failing::check;
use crate::serving::{Server, body, get, start};
use crate::{Shell, int16s, npy};

/// A shell with a viewer in the folder `page`, and an array with an overview in the folder `data`.
pub(crate) fn shell() -> Shell {
    let shell = Shell::new();
    std::fs::create_dir_all(shell.path("page/hyperslab")).unwrap();
    shell.file("page/index.html", "<!doctype html><title>viewer</title>");
    shell.file("page/main.js", "export {};");
    shell.file("page/hyperslab/core.wasm", b"\0asm");
    shell.file("in.npy", npy("'<i2'", "(4, 4)", &int16s(16)));
    std::fs::create_dir(shell.path("data")).unwrap();
    shell.ok("import in.npy 'data/a b' --attrs height");
    shell.ok("overviews 'data/a b' --factors 2");
    shell
}

/// A server of `view`, and the path of its page.
struct Viewed {
    server: Server,
    page: String,
    /// What the page opens first.
    fragment: String,
}

fn view(shell: &Shell, place: &str) -> Viewed {
    let mut server = start(shell, &format!("view {place} --no-open --viewer page"));
    let (address, rest) = server.address.split_once('/').unwrap();
    let (token, fragment) = rest.split_once('/').unwrap_or((rest, ""));
    let (page, fragment) = (format!("/{token}/"), fragment.to_owned());
    server.address = address.to_owned();
    Viewed { server, page, fragment }
}

impl Viewed {
    fn get(&self, path: &str, header: &str) -> String {
        get(&self.server, &format!("{}{path}", self.page), header)
    }

    fn catalog(&self) -> Value {
        serde_json::from_str(body(&self.get("arrays.json", ""))).unwrap()
    }
}

#[track_caller]
fn status(answer: &str) -> &str {
    answer.strip_prefix("HTTP/1.1 ").unwrap().get(..3).unwrap()
}

#[test]
fn an_array_is_shown_below_a_secret_path() {
    let shell = shell();
    let viewed = view(&shell, "'data/a b'");
    assert!(viewed.server.address.starts_with("127.0.0.1:"));
    assert_eq!(viewed.page.len(), 34, "{}", viewed.page);
    // The page decodes the fragment once. The rest is a URL.
    assert_eq!(viewed.fragment, "#url=data/a%2520b");
    let page = viewed.get("", "");
    assert!(
        page.contains("Content-Type: text/html") && body(&page).contains("<title>viewer"),
        "{page}"
    );
    assert!(
        page.contains("Referrer-Policy: no-referrer") && page.contains("X-Frame-Options: DENY"),
        "{page}"
    );
    assert!(
        viewed
            .get("hyperslab/core.wasm", "")
            .contains("Content-Type: application/wasm")
    );
    let about = "Dense, 4 × 4: height int16; array with overviews";
    assert_eq!(
        viewed.catalog(),
        json!([{"title": "a b", "url": "data/a%20b", "about": about}])
    );
    // Ranges of the array, its listing for programs, and its overview.
    let schema = viewed.get("data/a%20b/__schema/", "Accept: application/json\r\n");
    let list: Vec<Value> = serde_json::from_str(body(&schema)).unwrap();
    let name = list
        .iter()
        .filter_map(|e| e["name"].as_str())
        .find(|name| name.len() > 32)
        .unwrap();
    let part = viewed.get(&format!("data/a%20b/__schema/{name}"), "Range: bytes=0-3\r\n");
    assert_eq!(status(&part), "206", "{part}");
    assert_eq!(status(&viewed.get("data/a%20b.2/__schema/", "")), "200");
    // Every start has another path.
    assert_ne!(view(&shell, "'data/a b'").page, viewed.page);
}

#[test]
fn nothing_else_can_be_read() {
    let shell = shell();
    shell.file("data/secret", "secret");
    shell.ok("import in.npy data/other");
    #[cfg(unix)]
    std::os::unix::fs::symlink(shell.path("data/secret"), shell.path("data/a b/link")).unwrap();
    let viewed = view(&shell, "'data/a b'");
    for path in [
        "data/secret",
        "data/other/__schema/",
        "data/a%20b/../secret",
        "data/a%20b/..%2fsecret",
        "data/a%20b/%2e%2e/secret",
        "../data/secret",
        "data/a%20b/link",
        "data/",
        "data",
    ] {
        assert_eq!(status(&viewed.get(path, "")), "404", "{path}");
    }
    let wrong = "0".repeat(32);
    for path in ["/", "/index.html", "/data/a%20b/__schema/", &format!("/{wrong}/")] {
        let answer = get(&viewed.server, path, "");
        assert_eq!(status(&answer), "404", "{path}");
        assert!(!answer.contains(viewed.page.trim_matches('/')), "{path}: {answer}");
    }
}

/// A shell whose array 'data/a b' says that its overviews are at these paths. The folder 'data/private' has an array and a
/// file that is none of its business.
pub(crate) fn shell_with_overviews_at(paths: &[&str]) -> Shell {
    let shell = shell();
    std::fs::create_dir(shell.path("data/private")).unwrap();
    shell.file("data/private/letter", "secret");
    shell.ok("copy 'data/a b.2' data/private/small");
    let overviews: Vec<Value> = paths.iter().map(|path| json!({"factor": 2, "path": path})).collect();
    shell.ok(&format!("meta set 'data/a b' overviews '{}'", Value::from(overviews)));
    shell
}

#[test]
fn only_arrays_next_to_the_array_are_served() {
    let shell = shell_with_overviews_at(&["../a b.2", "../private/small", "../private", "../private/nothing"]);
    let viewed = view(&shell, "'data/a b'");
    for path in ["data/a%20b.2/__schema/", "data/private/small/__schema/"] {
        assert_eq!(status(&viewed.get(path, "")), "200", "{path}");
    }
    for path in [
        "data/private/letter",
        "data/private/",
        "data/private/small.2",
        "data/priv",
    ] {
        assert_eq!(status(&viewed.get(path, "")), "404", "{path}");
    }
}

#[test]
fn files_of_the_data_are_never_pages() {
    let shell = shell();
    let script = "<script>fetch('../arrays.json')</script>";
    for name in ["index.html", "run.js", "image.svg", "style.css"] {
        shell.file(&format!("data/a b/{name}"), script);
        shell.file(&format!("data/{name}"), script);
    }
    for (place, folder) in [
        ("'data/a b'", "data/a%20b/"),
        ("data", "data/"),
        ("data", "data/a%20b/"),
    ] {
        let viewed = view(&shell, place);
        for name in ["index.html", "run.js", "image.svg", "style.css"] {
            let answer = viewed.get(&format!("{folder}{name}"), "Accept: text/html\r\n");
            for header in [
                "Content-Type: application/octet-stream\r\n",
                "Content-Security-Policy: sandbox; default-src 'none'\r\n",
                "X-Content-Type-Options: nosniff\r\n",
            ] {
                assert!(answer.contains(header), "{folder}{name}: {answer}");
            }
            assert_eq!(body(&answer), script);
        }
        let listed = viewed.get(folder, "Accept: text/html\r\n");
        assert!(listed.contains("<li><a href=\"./run.js\">"), "{listed}");
        assert!(!listed.contains("<script>"), "{listed}");
        // The page itself keeps its types.
        assert!(viewed.get("main.js", "").contains("Content-Type: text/javascript"));
        assert!(viewed.get("", "").contains("Content-Type: text/html"));
    }
}

#[test]
fn other_pages_cannot_read_with_the_secret() {
    let shell = shell();
    let viewed = view(&shell, "data");
    let origin = format!("http://{}", viewed.server.address);
    for other in [
        "http://localhost:3000",
        "http://127.0.0.1:1",
        "https://evil.example",
        "null",
    ] {
        let answer = viewed.get("arrays.json", &format!("Origin: {other}\r\n"));
        assert_eq!(status(&answer), "403", "{other}");
        assert!(!answer.contains("Access-Control-Allow-Origin"), "{answer}");
        assert!(body(&answer).contains("hyperslab view"), "{answer}");
    }
    // `get` names the host localhost, so the page's own origin has another name.
    let port = viewed.server.address.rsplit_once(':').unwrap().1;
    let own = viewed.get("arrays.json", &format!("Origin: http://localhost:{port}\r\n"));
    assert_eq!(status(&own), "403", "the host has no port here");
    assert_eq!(
        status(&viewed.get("arrays.json", "Origin: http://localhost\r\n")),
        "200"
    );
    let page = viewed.get("arrays.json", "");
    assert!(page.contains("Cross-Origin-Resource-Policy: same-origin"), "{page}");
    // A host name of another page that resolves to this machine, as an absolute target names it.
    let rebound = get(
        &viewed.server,
        &format!("http://evil.example{}arrays.json", viewed.page),
        "",
    );
    assert_eq!(status(&rebound), "421", "{origin}");
}

#[test]
fn a_folder_lists_its_arrays_and_groups() {
    let shell = shell();
    shell.file("points.csv", "x,mag\n1,4.5\n7,2.5\n");
    shell.ok("import points.csv data/deep/points --sparse --dims x");
    shell.ok("group create data/deep/g");
    shell.ok("import in.npy data/deep/g/member");
    shell.ok("group add data/deep/g data/deep/g/member");
    shell.ok("import in.npy data/.hidden");
    let viewed = view(&shell, "data");
    assert_eq!(viewed.fragment, "");
    let listed = viewed.catalog();
    let urls: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["url"].as_str().unwrap())
        .collect();
    // Overviews and members of groups are found by what has them.
    assert_eq!(urls, ["data/a%20b", "data/deep/g", "data/deep/points"]);
    assert_eq!(listed[1]["title"], "deep/g");
    assert!(listed[1]["about"].as_str().unwrap().starts_with("Group: "), "{listed}");
    assert_eq!(listed[2]["about"], "Sparse, 2 cells: mag float64");
    assert_eq!(status(&viewed.get("data/deep/points/__schema/", "")), "200");
    assert_eq!(status(&viewed.get("data/.hidden/__schema/", "")), "404");
    // New arrays are listed without a new start.
    shell.ok("import in.npy data/later");
    assert_eq!(viewed.catalog().as_array().unwrap().len(), 4);
}

#[cfg(feature = "object-store")]
#[test]
fn an_array_on_another_host_is_read_through_the_server() {
    let shell = shell();
    let host = start(&shell, "serve . --port 0 --no-viewer");
    let viewed = view(&shell, &format!("http://{}/data/a%20b", host.address));
    assert_eq!(viewed.fragment, "#url=data/a%2520b");
    let about = "Dense, 4 × 4: height int16; array with overviews";
    assert_eq!(
        viewed.catalog(),
        json!([{"title": "a b", "url": "data/a%20b", "about": about}])
    );
    for array in ["a%20b", "a%20b.2"] {
        let commits = viewed.get(&format!("data/{array}/__commits/"), "Accept: application/json\r\n");
        let list: Vec<Value> = serde_json::from_str(body(&commits)).unwrap();
        assert!(list[0]["name"].as_str().unwrap().ends_with(".wrt"), "{commits}");
        let schema = viewed.get(&format!("data/{array}/__schema/"), "Accept: application/json\r\n");
        let list: Vec<Value> = serde_json::from_str(body(&schema)).unwrap();
        let file = list.iter().find(|e| e["type"] == "file").unwrap();
        let path = format!("data/{array}/__schema/{}", file["name"].as_str().unwrap());
        let whole = viewed.get(&path, "");
        assert!(
            whole.contains(&format!("Content-Length: {}\r\n", file["size"])),
            "{whole}"
        );
        let part = viewed.get(&path, "Range: bytes=1-2\r\n");
        assert!(
            part.contains(&format!("Content-Range: bytes 1-2/{}\r\n", file["size"])),
            "{part}"
        );
        assert_eq!(body(&part).len(), 2, "{part}");
    }
    assert_eq!(status(&viewed.get("data/a%20b/nothing", "")), "404");
    assert_eq!(status(&viewed.get("data/a%20b/..%2fin.npy", "")), "404");
}

#[test]
fn serve_sends_browsers_to_the_viewer() {
    let shell = shell();
    let server = start(&shell, "serve . --port 0 --viewer page");
    let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    let moved = get(&server, "/", browser);
    assert!(
        status(&moved) == "302" && moved.contains("Location: /.viewer/\r\n"),
        "{moved}"
    );
    assert!(get(&server, "/.viewer/", browser).contains("<title>viewer"));
    assert!(get(&server, "/.viewer/main.js", "").contains("Content-Type: text/javascript"));
    let listed: Value = serde_json::from_str(body(&get(&server, "/.viewer/arrays.json", ""))).unwrap();
    assert_eq!(listed[0]["url"], "../data/a%20b");
    // What is served is the same as before.
    let json = get(&server, "/", "Accept: application/json\r\n");
    let list: Vec<Value> = serde_json::from_str(body(&json)).unwrap();
    let names: Vec<&str> = list.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["data", "in.npy", "page"]);
    assert!(get(&server, "/", "").contains("<li><a href=\"./data/\">"));
    assert!(get(&server, "/data/", browser).contains("<li><a href=\"./a%20b/\">"));
    assert_eq!(status(&get(&server, "/.viewer/.hidden", "")), "404");
    // The folder's own page comes first.
    shell.file("index.html", "own page");
    assert_eq!(body(&get(&server, "/", browser)), "own page");
}

#[test]
fn without_the_viewer_serve_lists() {
    let shell = shell();
    let server = start(&shell, "serve . --port 0 --no-viewer");
    assert!(get(&server, "/", "Accept: text/html\r\n").contains("<li><a href=\"./data/\">"));
    assert_eq!(status(&get(&server, "/.viewer/", "")), "404");
}

#[test]
fn errors_of_view_say_what_to_do() {
    let shell = shell();
    let view = |place: &str| format!("view {place} --no-open --viewer page");
    for (line, words) in [
        (
            view("nothing"),
            ["cannot show nothing", "there is no array", "check the path"],
        ),
        (
            view("in.npy"),
            ["cannot show in.npy", "it is a file", "hyperslab import in.npy"],
        ),
        (
            "view data --viewer data".to_owned(),
            ["cannot use data", "no index.html", "cargo xtask program"],
        ),
    ] {
        check(&shell, &line, 1, &words);
    }
    if cfg!(not(feature = "viewer")) {
        let words = [
            "cannot show data",
            "built without the viewer",
            "cargo xtask program",
            "--viewer FOLDER",
        ];
        check(&shell, "view data", 1, &words);
    }
}
