"""Runs the benchmark, writes its results as CSV files and prints the table of ratios.

    python run.py --engine PATH --data FOLDER [--scale S] [--engine-only] [--only WORKLOAD,...] --results FOLDER

Makes missing inputs and arrays. Measures all engines on each workload one after the other, so that each ratio compares
times of the same period. Results go to one CSV file per workload in the folder of results.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys

import data
import prepare
import report

HERE = os.path.dirname(os.path.abspath(__file__))
# Keep freed memory in the process: this makes libtiledb and HDF5 several times faster.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000", "MALLOC_ARENA_MAX": "1"}

DENSE = [f"{codec}/{name}" for codec in ("none", "zstd3", "bszstd3", "gzip6")
         for name in ("tile", "par", "col", "row", "sq1k", "full")]
SPARSE = [f"{codec}/{name}/{what}" for codec in ("none", "zstd3")
          for name, what in (("dq-10k", "xy"), ("dq-100k", "xy"), ("dq-1m", "xy"), ("sq-1k", "xy"), ("sq-10k", "xy"),
                             ("dq-1m", "all"), ("sq-10k", "all"))]
DENSE_RIVALS, SPARSE_RIVALS = ["tiledb", "hdf5", "zarrs"], ["tiledb", "duckdb"]
PLAN = (
    [("dense-load", c + "/row", DENSE_RIVALS) for c in ("none", "zstd3", "bszstd3", "gzip6")]
    + [("sparse-load", c, SPARSE_RIVALS) for c in ("none", "zstd3")]
    + [("dense-subarray", v, DENSE_RIVALS) for v in DENSE]
    + [("dense-subarray", v, []) for v in ("none/cell", "zstd3/cell")]
    + [("dense-random", f"{c}/{n}", DENSE_RIVALS) for c in ("none", "zstd3") for n in (1000, 10_000, 100_000)]
    + [("dense-update", v, DENSE_RIVALS) for v in ("none/1000", "none/10000", "none/100000", "zstd3/100000")]
    + [("sparse-subarray", v, SPARSE_RIVALS) for v in SPARSE]
    + [("dense-fragments", f"zstd3/{f}", ["tiledb"]) for f in (0, 10, 100, 1000)]
    + [("sparse-fragments", f"zstd3/{f}/{s}", ["tiledb"]) for f in (0, 10, 100, 1000) for s in ("dq-10k", "sq-10k")]
    + [("dense-consolidate", f"zstd3/{f}", ["tiledb"]) for f in (10, 100)]
    + [("sparse-consolidate", f"zstd3/{f}", ["tiledb"]) for f in (100, 1000)]
    + [("open", f"{kind}/{how}", ["tiledb"]) for kind in ("sparse", "dense")
       for how in ("1", "100", "100+meta+commits", "1000", "1000+meta", "1000+meta+commits")]
    + [("dense-cold", f"{c}/{name}", DENSE_RIVALS) for c in ("none", "zstd3") for name in ("tile", "row", "sq1k", "full")]
    + [("sparse-cold", f"{c}/{name}", SPARSE_RIVALS) for c in ("none", "zstd3")
       for name in ("dq-10k/xy", "dq-1m/xy", "sq-10k/xy", "dq-1m/all")]
    + [("growth", f"{kind}/{axis}/{n}", []) for kind in ("dense", "sparse")
       for axis, steps in (("data", (1, 2, 4)), ("attributes", (1, 2, 4, 8)), ("fragments", (10, 100, 1000))) for n in steps]
    + [("wasm", f"{c}/{name}", ["node", "chromium"]) for c in ("none", "zstd3", "bszstd3", "gzip6") for name in ("tile", "sq1k")]
    + [("filters", name, []) for name in ("gzip-6", "zstd-3", "lz4", "bzip2-9", "rle", "double_delta", "delta",
                                          "bit_width_reduction", "positive_delta", "bitshuffle", "byteshuffle", "xor",
                                          "float_scale", "md5", "sha256", "aes_256_gcm")]
)
# Workloads that repeat another one under different conditions: with one thread, as in a web page, or after dropping the
# page cache.
SAME_AS = {"wasm": "dense-subarray", "dense-cold": "dense-subarray", "sparse-cold": "sparse-subarray"}
# Workloads for which the engine also measures a lower bound.
LIMITED = ["dense-load", "dense-subarray", "sparse-fragments", "open"]
# Rivals that read Hyperslab's own arrays.
OURS = ("hyperslab", "tiledb", "node", "chromium")


def folder(args, workload, variant, rival="hyperslab"):
    """The array that a workload reads, writes or changes."""
    kind, codec = workload.split("-")[0].replace("wasm", "dense"), variant.split("/")[0]
    name = f"{kind}-{codec}" if workload not in ("open", "growth") else f"{workload}-" + variant.replace("/", "-")
    if workload.endswith(("-fragments", "-consolidate")) and variant.split("/")[1] != "0":
        name += "-f" + variant.split("/")[1]
    if rival in OURS and not workload.endswith("-load"):
        rival = "hyperslab"
    return os.path.join(args.data, "arrays", f"{rival}-{name}")


def lines(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})))
    if done.returncode:
        print("  failed: " + " ".join(command), file=sys.stderr)
        return []
    return [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]


def engine(args, workload, variant, array, before):
    threads = 1 if workload == "wasm" else os.cpu_count()
    return lines([args.engine, SAME_AS.get(workload, workload), variant, array, "--data", args.data,
                  "--runs", str(args.runs), "--seconds", str(args.seconds), "--threads", str(threads), "--prepare", before,
                  *(["--limit"] if workload in LIMITED else [])])


def wasm(args, variant, array, where):
    queries = os.path.join(args.data, "queries", "dense.json")
    return lines(["node", os.path.join(HERE, "wasm.mjs"), where, os.path.join(HERE, "../../wasm/npm"), array, queries,
                  variant, str(args.runs), str(args.seconds)])


def other(args, workload, variant, array, rival, before, runs):
    return lines([sys.executable, os.path.join(HERE, "rivals.py"), rival, SAME_AS.get(workload, workload), variant, array,
                  args.data, str(runs), str(args.seconds), before], MALLOC)


def ready(args, workload, variant, rival):
    """The path of a workload's array. Writes the array if the workload does not write it itself."""
    array, codec = folder(args, workload, variant, rival), variant.split("/")[0]
    if workload == "filters":
        return args.data
    if workload == "growth" or workload.endswith("-load") or os.path.exists(array):
        return array
    kind = workload.split("-")[0].replace("wasm", "dense")
    if rival in OURS:
        fragments = array.rsplit("-f", 1)[1] if "-f" in os.path.basename(array) else "0"
        what = f"{kind}/{codec}/{fragments}" if workload != "open" else f"open/{variant}"
        lines([args.engine, "make", what, array, "--data", args.data])
    else:
        other(args, f"{kind}-load", codec, array, rival, "", 1)
    return array


def measure(args, workload, variant, rival):
    """The output lines of one engine. Workloads that change an array get a copy, made of hard links if the engine
    never changes existing files."""
    array = ready(args, workload, variant, rival)
    copied, before = array + "-changed", ""
    prepared = [sys.executable, os.path.join(HERE, "prepare.py")]
    if workload.endswith("-cold"):
        before = shlex.join([*prepared, "cold", array])
    elif workload.endswith("-update"):
        before = shlex.join([*prepared, "link" if rival in OURS else "copy", array, copied])
    elif workload.endswith("-consolidate"):
        prepare.link(array, copied)
    at = copied if workload.endswith(("-update", "-consolidate")) else array
    if rival == "hyperslab":
        found = engine(args, workload, variant, at, before)
    elif rival in ("node", "chromium"):
        found = wasm(args, variant, at, rival)
    else:
        found = other(args, workload, variant, at, rival, before, args.runs)
    prepare.remove(copied)
    for line in found:
        print(f"{workload:18} {variant:20} {line['peer']:10} {line['metric']:11} {line['median']:10.4g} {line['unit']}", flush=True)
    return [dict(line, workload=workload) for line in found]


def machine():
    names = [x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")] if os.path.exists("/proc/cpuinfo") else []
    return f"{os.cpu_count()} cores{' of ' + names[0] if names else ''}, {platform.system()} {platform.release()}"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--engine", required=True)
    p.add_argument("--data", required=True)
    p.add_argument("--results", required=True)
    p.add_argument("--scale", type=float, default=1.0)
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--engine-only", action="store_true")
    p.add_argument("--only", default="")
    args = p.parse_args()
    args.data = os.path.abspath(args.data)
    if not os.path.exists(os.path.join(args.data, "queries", "sparse.json")):
        print("making the inputs", flush=True)
        data.make(args.data, args.scale)
    unknown = set(filter(None, args.only.split(","))) - {w for w, _, _ in PLAN}
    if unknown:
        p.error(f"no workload is called {', '.join(sorted(unknown))}")
    asked = [w for w in dict.fromkeys(w for w, _, _ in PLAN) if not args.only or w in args.only.split(",")]
    cold = [w for w in asked if w.endswith("-cold")]
    unmeasured = {}
    if cold and not prepare.can_be_cold(args.data):
        unmeasured = {w: "the page cache cannot be dropped here" for w in cold}
    log = os.path.join(args.data, "results.jsonl")
    rows = []
    with open(log, "w") as f:
        for workload, variant, rivals in PLAN:
            if workload in unmeasured or workload not in asked:
                continue
            for rival in ["hyperslab"] + ([] if args.engine_only else rivals):
                found = measure(args, workload, variant, rival)
                rows += found
                f.writelines(json.dumps(r) + "\n" for r in found)
                f.flush()
    options = [f"--{k} {getattr(args, k)}" for k in ("scale", "runs", "seconds", "only") if getattr(args, k) != p.get_default(k)]
    command = " ".join(["cargo xtask bench", *options, *(["--engine-only"] if args.engine_only else [])])
    date = datetime.date.today().isoformat()
    written = report.write(args.results, report.rows(rows, machine(), command, date))
    print("\n" + report.summary(report.read(args.results)) + "\n")
    for workload, why in unmeasured.items():
        print(f"{workload} was not measured: {why}. Its results are from an earlier run, if it has any.")
    print(f"wrote {', '.join(written) or 'no results'}; the measured lines are in {log}")
    print("BENCHMARKS.md was not changed. Copy the table above into it by hand.")


if __name__ == "__main__":
    main()
