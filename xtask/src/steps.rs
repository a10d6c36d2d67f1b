//! The steps of `cargo xtask test`: what each needs, and the commands it runs.

use std::process::Command;

use crate::demo;
use crate::run::{cargo, command, root};
use crate::setup::Need;
use crate::site;

/// One check: its name, what it needs, and its commands, run in order.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) needs: &'static [Need],
    /// The commands; with a filter, only of the tests whose names contain it.
    pub(crate) commands: fn(Option<&str>) -> Vec<Command>,
    /// Whether the step runs named tests, which a filter can choose from.
    pub(crate) filters: bool,
}

/// All steps, in the order in which they run.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "format",
        needs: &[],
        commands: |_| vec![cargo(&["fmt", "--all", "--check"])],
        filters: false,
    },
    Step {
        name: "lint",
        needs: &[],
        commands: |_| vec![lint()],
        filters: false,
    },
    Step {
        name: "rustdoc",
        needs: &[],
        commands: |_| vec![rustdoc()],
        filters: false,
    },
    Step {
        name: "unit",
        needs: &[Need::Fuse, Need::Fio, Need::Oracle],
        commands: unit,
        filters: true,
    },
    Step {
        name: "tidy",
        needs: &[],
        commands: |filter| vec![suite(&["tidy", "docs", "packages"], &[], filter), readme()],
        filters: true,
    },
    Step {
        name: "book",
        needs: &[Need::Fuse, Need::Oracle, Need::Node],
        commands: book,
        filters: true,
    },
    Step {
        name: "golden",
        needs: &[],
        commands: |filter| vec![suite(&["golden"], &[], filter)],
        filters: true,
    },
    Step {
        name: "interop",
        needs: &[Need::Oracle],
        commands: |filter| vec![suite(&["interop_read", "interop_write"], &["--nocapture"], filter)],
        filters: true,
    },
    Step {
        name: "promises",
        needs: &[Need::Oracle],
        commands: |filter| {
            let tests = ["fuzz", "promises", "stores"];
            vec![suite(&tests, &["--nocapture", "--skip", "azure::"], filter)]
        },
        filters: true,
    },
    // Apart from the other stores, because it needs an emulator.
    Step {
        name: "azure",
        needs: &[Need::Oracle, Need::Azurite],
        commands: |_| vec![suite(&["stores"], &["--nocapture"], Some("azure::"))],
        filters: false,
    },
    Step {
        name: "wasm",
        needs: &[Need::Wasm, Need::Browser, Need::WasmBindgen],
        commands: wasm,
        filters: true,
    },
    Step {
        name: "npm",
        needs: &[Need::Wasm, Need::Node, Need::Browser],
        commands: npm,
        filters: true,
    },
    Step {
        name: "bundlers",
        needs: &[Need::Wasm, Need::Node, Need::Browser],
        commands: bundlers,
        filters: true,
    },
    Step {
        name: "firefox",
        needs: &[Need::Wasm, Need::Node, Need::Oracle, Need::WasmBindgen, Need::Firefox],
        commands: firefox,
        filters: true,
    },
    Step {
        name: "webkit",
        needs: &[Need::Wasm, Need::Node, Need::Oracle, Need::WebKit],
        commands: webkit,
        filters: true,
    },
    Step {
        name: "viewer",
        needs: &[Need::Wasm, Need::Node, Need::Oracle, Need::Browser],
        commands: viewer,
        filters: true,
    },
];

/// The crates that only the npm package needs; its step builds them.
const NOT_NATIVE: [&str; 4] = ["--exclude", "hyperslab-wasm", "--exclude", "hyperslab-bindgen"];

fn lint() -> Command {
    let mut c = cargo(&["clippy", "--workspace"]);
    c.args(NOT_NATIVE)
        .args(["--all-targets", "--all-features", "--quiet", "--", "-D", "warnings"]);
    c
}

/// The pages that docs.rs builds, without warnings such as broken links.
fn rustdoc() -> Command {
    let mut c = cargo(&["doc", "--package", "hyperslab", "--no-deps", "--quiet"]);
    c.args(["--features", "arrow,object-store,test-util"])
        .env("RUSTDOCFLAGS", "-D warnings");
    c
}

/// The example in the README.
fn readme() -> Command {
    cargo(&["test", "--package", "hyperslab-tests", "--doc"])
}

fn unit(filter: Option<&str>) -> Vec<Command> {
    let mut c = cargo(&["test", "--workspace"]);
    c.args(NOT_NATIVE)
        .args(["--exclude", "hyperslab-tests", "--all-features", "--no-fail-fast"])
        .args(filter);
    vec![c]
}

/// Some files of the tests package, with the features `unit` was built with.
fn suite(files: &[&str], options: &[&str], filter: Option<&str>) -> Command {
    let mut c = cargo(&["test", "--package", "hyperslab-tests", "--no-fail-fast"]);
    for file in files {
        c.args(["--test", file]);
    }
    c.arg("--").args(options).args(filter);
    c
}

/// The commands of the book, its links, and the website.
fn book(filter: Option<&str>) -> Vec<Command> {
    vec![suite(&["book"], &[], filter), site::command()]
}

fn wasm(filter: Option<&str>) -> Vec<Command> {
    let mut c = wasm_tests(filter);
    c.env("CHROMEDRIVER", "chromedriver");
    vec![c]
}

/// The engine's tests in a browser, whose driver the caller sets.
fn wasm_tests(filter: Option<&str>) -> Command {
    let mut c = cargo(&["test", "--package", "hyperslab-wasm", "--no-fail-fast"]);
    c.args(["--target", "wasm32-unknown-unknown"]).args(filter);
    c.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner")
        .env("WASM_BINDGEN_TEST_TIMEOUT", "600");
    c
}

/// The tests of the npm package, some of them again without WebAssembly SIMD.
fn npm(filter: Option<&str>) -> Vec<Command> {
    let mut commands = packaged("test", filter);
    commands.push(npm_script(command("npm"), "test:baseline", filter));
    commands
}

/// The npm package in bundlers and runtimes, which it installs from the npm registry.
fn bundlers(filter: Option<&str>) -> Vec<Command> {
    packaged("test:bundlers", filter)
}

/// Builds the npm package, and runs its tests.
fn packaged(tests: &str, filter: Option<&str>) -> Vec<Command> {
    let test = npm_script(command("npm"), tests, filter);
    vec![npm_script(command("npm"), "build", None), test]
}

/// Completes `npm`, or a command that ends with it, to a command that runs a script of the package.
fn npm_script(mut npm: Command, name: &str, filter: Option<&str>) -> Command {
    npm.args(["run", name]).current_dir(root().join("wasm/npm"));
    if let Some(filter) = filter {
        npm.args(["--", "--test-name-pattern", filter]);
    }
    npm
}

/// The tests of pages and of the viewer in Firefox, and the engine's own tests there.
fn firefox(filter: Option<&str>) -> Vec<Command> {
    let mut commands = pages("firefox", filter);
    let mut tests = wasm_tests(filter);
    tests
        .env("GECKODRIVER", "geckodriver")
        .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", "webdriver-firefox.json");
    commands.push(tests);
    commands
}

/// The tests of pages and of the viewer in WebKit.
fn webkit(filter: Option<&str>) -> Vec<Command> {
    pages("webkit", filter)
}

/// Builds the viewer, and runs the tests of pages and of the viewer in a browser, on a display of its own.
fn pages(browser: &str, filter: Option<&str>) -> Vec<Command> {
    let test = npm_script(on_display("npm"), "test:pages", filter);
    let mut viewer = e2e(on_display("node"), filter);
    // The others take too long there, where pictures are drawn in software, and end WebKit's page.
    viewer.args(["viewer", "edit", "doctor"].map(|file| format!("web-demo/e2e/{file}.test.mjs")));
    let mut commands = vec![prepare(), test, viewer];
    for c in &mut commands {
        c.env("HYPERSLAB_BROWSER", browser);
    }
    commands
}

/// A program on a display of its own, which has room for the widest pages.
fn on_display(program: &str) -> Command {
    let mut c = command("xvfb-run");
    c.args(["--auto-servernum", "--server-args", "-screen 0 1920x1400x24", program]);
    c
}

fn viewer(filter: Option<&str>) -> Vec<Command> {
    let mut tests = e2e(command("node"), filter);
    tests.args(["web-demo/test/", "web-demo/e2e/"]);
    vec![prepare(), tests]
}

/// Builds the npm package, the viewer and its sample arrays.
fn prepare() -> Command {
    let mut c = command(&std::env::current_exe().unwrap_or_default().to_string_lossy());
    c.args(["demo", "prepare"]);
    c
}

/// Completes `node`, or a command that ends with it, to a run of tests of the viewer, whose files follow.
fn e2e(mut node: Command, filter: Option<&str>) -> Command {
    node.arg("--test");
    if let Some(filter) = filter {
        node.args(["--test-name-pattern", filter]);
    }
    node.env("SITE_DIR", demo::site())
        .env("HYPERSLAB", demo::program("hyperslab"));
    node
}
