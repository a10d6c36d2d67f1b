//! The tools that the checks and the demo need besides `cargo`, and how to install them.

use std::path::{Path, PathBuf};

use crate::run::{self, Outcome, cargo, command, quiet, root, target};

/// A requirement of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// The Rust target for browsers, and the C compiler that zstd needs for it.
    Wasm,
    /// The test runner of `wasm-bindgen`, of the version in Cargo.lock.
    WasmBindgen,
    /// Chromium and its driver.
    Browser,
    /// Firefox, its driver, and a display, without which it has no WebGL.
    Firefox,
    /// WebKit's browser for tests, its driver, and a display.
    WebKit,
    /// Node with the packages of the viewer and of the npm package.
    Node,
    /// A Python with libtiledb, the reference implementation.
    Oracle,
    /// FUSE: the device and the mount helper.
    Fuse,
    /// fio, which checks the blocks of files in a mount.
    Fio,
    /// Azurite, the Azure emulator, and the Node that runs it.
    Azurite,
}

impl Need {
    /// Whether CI may lack it: the steps that need it are then reported as not run, and CI still passes.
    pub(crate) fn is_optional(self) -> bool {
        matches!(self, Self::Firefox | Self::WebKit)
    }
}

/// All requirements, in the order of installation.
pub(crate) const ALL: [Need; 10] = [
    Need::Oracle,
    Need::Fuse,
    Need::Fio,
    Need::Wasm,
    Need::Browser,
    Need::Firefox,
    Need::WebKit,
    Need::Node,
    Need::WasmBindgen,
    Need::Azurite,
];

/// Installs missing requirements. Returns those that could not be installed, with the reason.
pub(crate) fn all(needs: &[Need]) -> Vec<(Need, String)> {
    let mut missing = Vec::new();
    for &need in needs {
        if let Err(why) = provide(need) {
            eprintln!("cannot set up {need:?}: {why}");
            missing.push((need, why));
        }
    }
    missing
}

/// The command `setup`.
///
/// # Errors
/// Lists everything that could not be installed.
pub(crate) fn run() -> Outcome {
    let missing = all(&ALL);
    if missing.is_empty() {
        println!("everything is there");
        return Ok(());
    }
    Err(format!(
        "could not set up {}",
        missing
            .iter()
            .map(|(n, _)| format!("{n:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

fn provide(need: Need) -> Outcome {
    match need {
        Need::Wasm => {
            wasm_target()?;
            have_or_install("clang", "clang")
        }
        Need::WasmBindgen => wasm_bindgen(),
        Need::Browser => {
            if have("chromium") || have("chromium-browser") || have("google-chrome") {
                return have_or_install("chromedriver", "chromium-driver");
            }
            apt(&["chromium", "chromium-driver"])
        }
        Need::Firefox => {
            display()?;
            have_or_install("firefox-esr", "firefox-esr")?;
            geckodriver()
        }
        Need::WebKit => {
            display()?;
            have_or_install("WebKitWebDriver", "webkit2gtk-driver")
        }
        Need::Node => {
            have_or_install("npm", "npm")?;
            for folder in ["wasm/npm", "web-demo"] {
                node_packages(&root().join(folder))?;
            }
            Ok(())
        }
        Need::Azurite => {
            have_or_install("npm", "npm")?;
            node_packages(&root().join("tests/azurite"))
        }
        Need::Oracle => oracle(),
        Need::Fio => have_or_install("fio", "fio"),
        Need::Fuse => {
            have_or_install("fusermount3", "fuse3")?;
            have_or_install("rsync", "rsync")?;
            if Path::new("/dev/fuse").exists() {
                Ok(())
            } else {
                Err("there is no /dev/fuse here".into())
            }
        }
    }
}

fn have(program: &str) -> bool {
    quiet(command("sh").args(["-c", &format!("command -v {program}")])).is_ok()
}

/// A display for programs that need one.
fn display() -> Outcome {
    have_or_install("xvfb-run", "xvfb")?;
    have_or_install("xauth", "xauth")
}

fn have_or_install(program: &str, package: &str) -> Outcome {
    if have(program) { Ok(()) } else { apt(&[package]) }
}

fn apt(packages: &[&str]) -> Outcome {
    let by_hand = format!("install {} by hand", packages.join(" "));
    if !have("apt-get") {
        return Err(format!("there is no apt-get: {by_hand}"));
    }
    if quiet(command("id").arg("-u"))?.trim() != "0" {
        return Err(format!("apt-get needs root: {by_hand}"));
    }
    let install = || {
        let mut c = command("apt-get");
        c.env("DEBIAN_FRONTEND", "noninteractive")
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages);
        run::run(&mut c)
    };
    // The package lists of a fresh image are empty: update once and try again.
    install()
        .or_else(|_| run::run(command("apt-get").arg("update")).and_then(|()| install()))
        .map_err(|e| format!("{e}: {by_hand}"))
}

fn wasm_target() -> Outcome {
    let sysroot = quiet(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim())
        .join("lib/rustlib/wasm32-unknown-unknown/lib")
        .exists()
    {
        return Ok(());
    }
    run::run(command("rustup").args(["target", "add", "wasm32-unknown-unknown"]))
}

/// The version of a package in Cargo.lock.
fn locked(package: &str) -> Outcome<String> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line == format!("name = \"{package}\"")
            && let Some(version) = lines.next().and_then(|l| l.strip_prefix("version = \""))
        {
            return Ok(version.trim_end_matches('"').to_owned());
        }
    }
    Err(format!("{package} is not in Cargo.lock"))
}

fn wasm_bindgen() -> Outcome {
    let version = locked("wasm-bindgen")?;
    cargo_tool("wasm-bindgen", "wasm-bindgen-cli", &version)
}

/// Firefox's driver, which Debian does not package.
fn geckodriver() -> Outcome {
    cargo_tool("geckodriver", "geckodriver", "0.37.1")
}

/// Builds a program from crates.io, if it is missing or of another version.
fn cargo_tool(program: &str, package: &str, version: &str) -> Outcome {
    let tools = target().join("tools");
    if quiet(command(program).arg("--version")).is_ok_and(|v| v.split_whitespace().nth(1) == Some(version)) {
        return Ok(());
    }
    let install = |lock: &[&str]| {
        let mut c = cargo(&["install", package, "--version", version, "--root"]);
        // Build without optimisation: the tool runs for seconds, but its optimised build takes minutes.
        c.arg(&tools)
            .args(lock)
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        c.env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_TARGET_DIR", tools.join("build"))
            .env_remove("RUSTFLAGS");
        run::run(&mut c)
    };
    // A registry mirror may lack the exact versions in the tool's lock file.
    install(&["--locked"]).or_else(|_| install(&[]))?;
    // The tool is installed; its build files are not needed any more.
    std::fs::remove_dir_all(tools.join("build")).map_err(|e| e.to_string())
}

/// Installs the npm packages of a folder that has a lock file.
///
/// # Errors
/// If npm fails.
pub(crate) fn node_packages(folder: &Path) -> Outcome {
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/.package-lock.json");
    let time = |p: &Path| p.metadata().and_then(|m| m.modified()).ok();
    if !lock.exists() || time(&stamp) >= time(&lock) {
        return Ok(());
    }
    run::run(
        command("npm")
            .args(["ci", "--no-audit", "--no-fund"])
            .current_dir(folder),
    )
}

/// The Python with libtiledb: `HYPERSLAB_PYTHON`, or the one in the target folder.
pub(crate) fn python() -> PathBuf {
    std::env::var_os("HYPERSLAB_PYTHON").map_or_else(|| target().join("oracle/bin/python"), PathBuf::from)
}

fn oracle() -> Outcome {
    if std::env::var_os("HYPERSLAB_PYTHON").is_some() {
        return quiet(command(&python().to_string_lossy()).args(["-c", "import tiledb, numpy"])).map(drop);
    }
    venv("oracle", "tests/requirements.txt").map(drop)
}

/// The Python with the benchmark's rivals: `HYPERSLAB_BENCH_PYTHON`, or the one in the target folder.
///
/// # Errors
/// If it cannot be created, or its packages cannot be installed.
pub(crate) fn bench_python() -> Outcome<PathBuf> {
    match std::env::var_os("HYPERSLAB_BENCH_PYTHON") {
        Some(python) => Ok(python.into()),
        None => venv("bench-python", "tests/bench/requirements.txt"),
    }
}

/// The Python that writes the data of `bench browser`.
///
/// # Errors
/// If it cannot be created, or its packages cannot be installed.
pub(crate) fn browser_bench_python() -> Outcome<PathBuf> {
    venv("bench-browser-python", "bench/browser/requirements.txt")
}

/// A Python in the target folder with the packages listed in `list`.
///
/// # Errors
/// If it cannot be created, or its packages cannot be installed.
pub(crate) fn venv(name: &str, list: &str) -> Outcome<PathBuf> {
    let list = root().join(list);
    let wanted = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let venv = target().join(name);
    let (stamp, python) = (venv.join("requirements.txt"), venv.join("bin/python"));
    if std::fs::read_to_string(&stamp).is_ok_and(|s| s == wanted) && python.exists() {
        return Ok(python);
    }
    let make = || quiet(command("python3").args(["-m", "venv", "--clear"]).arg(&venv)).map(drop);
    // Debian ships Python without venv.
    make().or_else(|_| apt(&["python3", "python3-venv"]).and_then(|()| make()))?;
    run::run(
        command(&python.to_string_lossy())
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&list),
    )?;
    std::fs::write(&stamp, wanted).map_err(|e| e.to_string())?;
    Ok(python)
}
