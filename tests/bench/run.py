"""Runs the benchmark and writes its report.

    python run.py --engine PATH --data FOLDER [--scale S] [--engine-only] [--only WORKLOAD,...] --report FILE

Makes the inputs where they are missing, lets Hyperslab write every array, and measures all rivals on each
workload one after the other, so that a ratio along a line is of one time.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys

import data
import report

HERE = os.path.dirname(os.path.abspath(__file__))
# Freed memory stays in the process: libtiledb and HDF5 are several times faster so.
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
    + [("dense-random", f"{c}/{n}", []) for c in ("none", "zstd3") for n in (1000, 10_000, 100_000)]
    + [("dense-update", f"none/{n}", []) for n in (1000, 10_000, 100_000)]
    + [("sparse-subarray", v, SPARSE_RIVALS) for v in SPARSE]
    + [("dense-fragments", f"zstd3/{f}", ["tiledb"]) for f in (0, 10, 100)]
    + [("sparse-fragments", f"zstd3/{f}/{s}", ["tiledb"]) for f in (0, 10, 100, 1000) for s in ("dq-10k", "sq-10k")]
    + [("dense-consolidate", f"zstd3/{f}", ["tiledb"]) for f in (10, 100)]
    + [("sparse-consolidate", f"zstd3/{f}", ["tiledb"]) for f in (100, 1000)]
    + [("open", f"{kind}/{how}", ["tiledb"]) for kind in ("sparse", "dense")
       for how in ("1", "100", "100+meta+commits", "1000", "1000+meta", "1000+meta+commits")]
    + [("wasm", f"{c}/{name}", ["wasm"]) for c in ("none", "zstd3", "bszstd3", "gzip6") for name in ("tile", "sq1k")]
    + [("filters", name, []) for name in ("gzip-6", "zstd-3", "lz4", "bzip2-9", "rle", "double_delta", "delta",
                                          "bit_width_reduction", "positive_delta", "bitshuffle", "byteshuffle", "xor",
                                          "float_scale", "md5", "sha256", "aes_256_gcm")]
)


def folder(args, workload, variant, rival="hyperslab"):
    """The array that a workload reads, writes or changes."""
    kind, codec = workload.split("-")[0].replace("wasm", "dense"), variant.split("/")[0]
    name = f"{kind}-{codec}" if workload != "open" else "open-" + variant.replace("/", "-")
    if workload.endswith(("-fragments", "-consolidate")) and variant.split("/")[1] != "0":
        name += "-f" + variant.split("/")[1]
    if rival in ("hyperslab", "tiledb", "wasm") and not workload.endswith("-load"):
        rival = "hyperslab"
    return os.path.join(args.data, "arrays", f"{rival}-{name}")


def lines(command, env=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})))
    if done.returncode:
        print("  failed: " + " ".join(command), file=sys.stderr)
    return [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]


def engine(args, workload, variant, array):
    # What runs in the browser has one thread: beside it the same reads, native, with one thread.
    threads, native = (1, "dense-subarray") if workload == "wasm" else (os.cpu_count(), workload)
    found = lines([args.engine, native, variant, array, "--data", args.data, "--runs", str(args.runs),
                   "--seconds", str(args.seconds), "--threads", str(threads)])
    return [dict(line, workload=workload) for line in found]


def wasm(args, variant, array):
    queries = os.path.join(args.data, "queries", "dense.json")
    return lines(["node", os.path.join(HERE, "wasm.mjs"), os.path.join(HERE, "../../wasm/npm"), array, queries, variant,
                  str(args.runs), str(args.seconds)])


def ready(args, workload, variant):
    """The array that a workload needs; Hyperslab writes it if it is not there."""
    array = folder(args, workload, variant)
    if not os.path.exists(array):
        codec = variant.split("/")[0]
        kind = workload.split("-")[0].replace("wasm", "dense")
        fragments = array.rsplit("-f", 1)[1] if "-f" in os.path.basename(array) else "0"
        what = f"{kind}/{codec}/{fragments}" if workload != "open" else f"open/{variant}"
        lines([args.engine, "make", what, array, "--data", args.data])
    return array


def copy(source):
    """By hard links: files of arrays are never changed."""
    target = source + "-changed"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=os.link)
    return target


def measure(args, workload, variant, rivals):
    found = []
    for rival in ["hyperslab"] + ([] if args.engine_only else rivals):
        if workload.endswith("-load"):
            array = folder(args, workload, variant, rival)
        elif workload == "filters":
            array = args.data
        elif rival in ("hyperslab", "tiledb", "wasm"):
            array = ready(args, workload, variant)
        else:
            array = folder(args, workload, variant, rival)
        changes = workload.endswith(("-update", "-consolidate"))
        array = copy(array) if changes else array
        if rival == "wasm":
            found += wasm(args, variant, array)
        elif rival == "hyperslab":
            found += engine(args, workload, variant, array)
        else:
            found += lines([sys.executable, os.path.join(HERE, "rivals.py"), rival, workload, variant, array, args.data,
                            str(args.runs), str(args.seconds)], MALLOC)
        if changes:
            shutil.rmtree(array)
        if found:
            last = found[-1]
            print(f"{workload:18} {variant:20} {rival:10} {last['metric']:11} {last['median']:10.4g} {last['unit']}", flush=True)
    return found


def machine():
    names = [x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")] if os.path.exists("/proc/cpuinfo") else []
    return f"{os.cpu_count()} cores{' of ' + names[0] if names else ''}, {platform.system()} {platform.release()}"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--engine", required=True)
    p.add_argument("--data", required=True)
    p.add_argument("--report", required=True)
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
    results = os.path.join(args.data, "results.jsonl")
    rows = []
    with open(results, "w") as f:
        for workload, variant, rivals in PLAN:
            if args.only and workload not in args.only.split(","):
                continue
            found = measure(args, workload, variant, rivals)
            rows += found
            f.writelines(json.dumps(r) + "\n" for r in found)
            f.flush()
    asked = [f"--{k} {getattr(args, k)}" for k in ("scale", "runs", "seconds", "only") if getattr(args, k) != p.get_default(k)]
    command = " ".join(["cargo xtask bench", *asked, *(["--engine-only"] if args.engine_only else [])])
    said = open(args.report).read() if os.path.exists(args.report) else ""
    with open(args.report, "w") as f:
        f.write(report.render(rows, machine(), report.versions(), command) + report.prose(said))
    print(f"{args.report} is written; the lines are in {results}")


if __name__ == "__main__":
    main()
