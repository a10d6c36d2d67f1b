//! The demo: real arrays, mounted as a folder and shown in a browser.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use crate::npm::Engines;
use crate::run::{self, Outcome, cargo, command, made, root, target};
use crate::setup::{Need, all};
use crate::viewer;

/// The command `demo`. `demo prepare` only builds the site and its arrays, without serving them.
///
/// # Errors
/// If something cannot be built or started.
pub(crate) fn run(args: &[String]) -> Outcome {
    let mut steps = Steps::start();
    match args {
        [] => show(&mut steps),
        [word] if word == "prepare" => prepare(&mut steps),
        _ => Err("usage: cargo xtask demo [prepare]".into()),
    }
}

/// Builds the page and its arrays, without serving them.
///
/// # Errors
/// If something cannot be built.
pub(crate) fn prepared() -> Outcome<PathBuf> {
    prepare(&mut Steps::start())?;
    Ok(site())
}

fn prepare(steps: &mut Steps) -> Outcome {
    // The tests have built the programs with all features before.
    arrays(steps, &[])?;
    page(steps, Engines::All)
}

/// Announces the steps of the demo, each with the time since the start.
struct Steps {
    start: Instant,
    done: usize,
}

impl Steps {
    /// How many steps there are.
    const ALL: usize = 4;

    fn start() -> Self {
        Self {
            start: Instant::now(),
            done: 0,
        }
    }

    fn next(&mut self, what: &str) {
        self.done += 1;
        println!(
            "== [{}] step {} of {}: {what}",
            run::elapsed(self.start),
            self.done,
            Self::ALL
        );
    }
}

/// The folder of the prepared site.
pub(crate) fn site() -> PathBuf {
    target().join("demo/site")
}

/// A program of the project, as built for the demo.
pub(crate) fn program(name: &str) -> PathBuf {
    target().join("debug").join(name)
}

/// Builds the native programs, with these options of cargo, and generates the arrays that are missing.
fn arrays(steps: &mut Steps, options: &[&str]) -> Outcome {
    steps.next("build hyperslab and fuse-mount");
    let build = ["build", "--package", "hyperslab-cli", "--package", "hyperslab-fuse"];
    run::run(cargo(&build).args(options))?;
    steps.next("import the sample arrays");
    make("land", land)?;
    make("elevation", elevation)?;
    make("earthquakes", earthquakes)?;
    make("climate", |into| import("climate.nc", &into.join("climate")))?;
    make("hubble", hubble)?;
    make("fault", |into| import("jacksboro_fault.tif", &into.join("fault")))?;
    make("lidar", |into| import("autzen.laz", &into.join("lidar")))?;
    make("cells", |into| import("pbmc68k.h5ad", &into.join("cells")))
}

/// Builds the npm package and the viewer, and puts them into the site.
fn page(steps: &mut Steps, engines: Engines) -> Outcome {
    steps.next("build the viewer");
    let built = viewer::build(engines)?;
    run::copy_into(&built, &made(&site())?)?;
    let thumbnails = root().join("web-demo/data/thumbnails");
    run::copy_into(&thumbnails, &made(&site().join("thumbnails"))?)?;
    std::fs::write(site().join("arrays.json"), ARRAYS).map_err(|e| format!("arrays.json: {e}"))
}

/// The arrays that the viewer lists.
const ARRAYS: &str = r#"[
  {"title": "Land of the globe", "url": "data/land/land", "thumbnail": "thumbnails/land.png", "map": "land and sea",
   "about": "Dense bool, 21600 × 43200: 933 million cells",
   "attribution": "NOAA GLOBE elevation data (public domain), as packaged by global-land-mask (MIT)"},
  {"title": "Elevation", "url": "data/elevation/elevation", "thumbnail": "thumbnails/elevation.png", "map": "terrain",
   "about": "Dense int16, 344 × 403: the Jacksboro fault, Tennessee",
   "attribution": "USGS elevation data (public domain), as packaged by matplotlib"},
  {"title": "A week of earthquakes", "url": "data/earthquakes/earthquakes", "thumbnail": "thumbnails/earthquakes.png", "attribute": "depth", "map": "viridis",
   "about": "Sparse, 1707 points in eight fragments: move through the days",
   "attribution": "USGS feed, 31 January to 7 February 2018 (public domain), as packaged by vega-datasets. Land: NOAA GLOBE"},
  {"title": "A century of climate", "url": "data/climate/climate", "thumbnail": "thumbnails/climate.png",
   "about": "Air temperature of North America, 1860 to 2099: move through the years",
   "attribution": "UK Met Office, scenario A1B, as packaged by iris-sample-data (Open Government Licence)"},
  {"title": "Hubble deep field", "url": "data/hubble/hubble", "thumbnail": "thumbnails/hubble.png",
   "about": "Galaxies in three channels and three sizes",
   "attribution": "NASA, ESA (public domain), as packaged by scikit-image"},
  {"title": "Elevation on the map", "url": "data/fault/fault", "thumbnail": "thumbnails/fault.png", "map": "terrain",
   "about": "The Jacksboro fault as a raster with a CRS, from a GeoTIFF",
   "attribution": "USGS elevation data (public domain), as packaged by matplotlib"},
  {"title": "Laser scan", "url": "data/lidar/lidar", "thumbnail": "thumbnails/lidar.png", "attribute": "Intensity", "map": "viridis",
   "about": "Sparse, 13,750 points near Autzen Stadium, Oregon, from a LAZ file",
   "attribution": "Every eighth point of the test file autzen_trim.laz of laspy (BSD-2-Clause)"},
  {"title": "Blood cells by gene", "url": "data/cells/cells", "thumbnail": "thumbnails/cells.png",
   "about": "SOMA experiment, 700 cells by 765 genes: colour the map by a gene",
   "attribution": "PBMC 68k (reduced) by 10x Genomics, as packaged by scanpy (BSD-3-Clause)"}
]
"#;

/// Creates one folder of arrays atomically, unless it exists.
fn make(name: &str, fill: fn(&Path) -> Outcome) -> Outcome {
    let data = made(&site().join("data"))?;
    let done = data.join(name);
    if done.exists() {
        return Ok(());
    }
    println!("making the array {name}");
    let half = data.join(format!(".{name}"));
    if half.exists() {
        std::fs::remove_dir_all(&half).map_err(|e| format!("{}: {e}", half.display()))?;
    }
    fill(&made(&half)?)?;
    // With a manifest the page needs no listings, as on a host that cannot list.
    for array in std::fs::read_dir(&half).map_err(|e| format!("{}: {e}", half.display()))? {
        hyperslab(&["index", &text(&array.map_err(|e| e.to_string())?.path())])?;
    }
    std::fs::rename(&half, &done).map_err(|e| format!("{}: {e}", done.display()))
}

fn import(file: &str, array: &Path) -> Outcome {
    hyperslab(&["import", &data(file), &text(array)])
}

fn hubble(into: &Path) -> Outcome {
    let image = into.join("hubble");
    import("hubble.ome.tif", &image)?;
    hyperslab(&["overviews", &text(&image), "--factors", "2", "--factors", "4"])
}

fn land(into: &Path) -> Outcome {
    let array = text(&into.join("land"));
    hyperslab(&[
        "import",
        &data("globe_land.npz"),
        &array,
        "--tile",
        "720,720",
        "--filters",
        "zstd:9",
    ])?;
    hyperslab(&["overviews", &array, "--factors", "4", "--factors", "16"])
}

fn elevation(into: &Path) -> Outcome {
    let array = text(&into.join("elevation"));
    hyperslab(&[
        "import",
        &data("jacksboro_elevation.npz"),
        &array,
        "--tile",
        "128,128",
        "--filters",
        "byteshuffle,zstd:9",
    ])
}

/// Writes one fragment per day, with a timestamp at its end, so that the array can be shown as it grew.
fn earthquakes(into: &Path) -> Outcome {
    let array = text(&into.join("earthquakes"));
    hyperslab(&["create", &array, "--schema", &data("earthquakes/schema.json")])?;
    for day in [
        "2018-01-31",
        "2018-02-01",
        "2018-02-02",
        "2018-02-03",
        "2018-02-04",
        "2018-02-05",
        "2018-02-06",
        "2018-02-07",
    ] {
        let csv = data(&format!("earthquakes/{day}.csv"));
        hyperslab(&["write", &array, &csv, "--timestamp", &format!("{day}T23:59:59Z")])?;
    }
    Ok(())
}

fn hyperslab(args: &[&str]) -> Outcome {
    run::run(command(&text(&program("hyperslab"))).args(args))
}

/// Options of cargo for quick builds. The samples are local files in several formats. Importing them needs the readers of
/// those formats, but no clients of object stores. At optimization level 0, it takes a minute longer.
const QUICK: &[&str] = &[
    "--no-default-features",
    "--features",
    "hyperslab-cli/formats",
    "--config",
    "profile.dev.package.hyperslab-cli.opt-level=1",
];

/// Mounts the arrays, serves the page, and runs until the user presses Ctrl-C.
fn show(steps: &mut Steps) -> Outcome {
    let (ended, end) = mpsc::channel();
    ctrlc::set_handler(move || {
        // A second signal finds no receiver, which is fine.
        let _ = ended.send(());
    })
    .map_err(|e| format!("cannot wait for Ctrl-C: {e}"))?;

    arrays(steps, QUICK)?;
    let mut children = Vec::new();
    match mount() {
        Ok((child, place)) => {
            println!("\narrays as files:  {}\n", place.display());
            children.push(child);
        }
        Err(why) => println!("\narrays as files:  not available ({why})\n"),
    }
    let outcome = page(steps, Engines::WithSimd).and_then(|()| {
        steps.next("serve the page");
        let (child, address) = serve()?;
        children.push(child);
        println!("\narrays in a page: {address}\nCtrl-C ends both");
        // The handler, and so the sender, lives as long as this program.
        let _ = end.recv();
        Ok(())
    });
    for child in &mut children {
        stop(child);
    }
    outcome
}

fn mount() -> Outcome<(Child, PathBuf)> {
    if let Some((_, why)) = all(&[Need::Fuse]).into_iter().next() {
        return Err(why);
    }
    let place = made(&target().join("demo/mount"))?;
    let mut c = command(&text(&program("fuse-mount")));
    c.arg(site().join("data")).arg(&place);
    let (child, _) = until_it_says(&mut c, "mounted")?;
    Ok((child, place))
}

fn serve() -> Outcome<(Child, String)> {
    let mut c = command(&text(&program("hyperslab")));
    c.arg("serve").arg(site());
    let (child, line) = until_it_says(&mut c, "http://")?;
    let address = line
        .split_whitespace()
        .find(|w| w.starts_with("http://"))
        .unwrap_or(&line)
        .to_owned();
    Ok((child, address))
}

/// Starts a program and waits for the line that says it is ready.
fn until_it_says(c: &mut Command, word: &str) -> Outcome<(Child, String)> {
    let name = text(Path::new(c.get_program()));
    let mut child = c
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| format!("{name}: {e}"))?;
    let lines = child.stdout.take().map(|out| BufReader::new(out).lines());
    for line in lines.into_iter().flatten().map_while(Result::ok) {
        if line.contains(word) {
            return Ok((child, line));
        }
    }
    stop(&mut child);
    Err(format!("{name} ended before it was ready"))
}

/// Interrupts a program, as Ctrl-C does, and waits for it.
fn stop(child: &mut Child) {
    // The same Ctrl-C may have ended it already.
    let _ = run::quiet(command("kill").args(["-TERM", &child.id().to_string()]));
    let _ = child.wait();
}

fn data(name: &str) -> String {
    text(&root().join("web-demo/data").join(name))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
