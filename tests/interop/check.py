"""Reads with libtiledb what Hyperslab wrote: `check.py OURS THEIRS`.

For each case of THEIRS/cases-*.jsonl prints a line ["name", "what is wrong, or nothing"].
"""

import glob
import json
import os
import sys

import capi
from generate import CONFIG

WORKERS = max(2, os.cpu_count() or 2)


def cell(col, kind, i):
    """Cell i in hex; None where it is null."""
    name, datatype, count, nullable = kind
    if nullable and col["valid"][2 * i : 2 * i + 2] == "00":
        return None
    if count == "var":
        return col["data"][2 * col["off"][i] : 2 * col["off"][i + 1]]
    width = 2 * capi.size_of(datatype) * count
    return col["data"][i * width : (i + 1) * width]


def rows(answer, fields):
    return [tuple(cell(answer["cols"][f[0]], f, i) for f in fields) for i in range(answer["cells"])]


def judge(lib, folder, case):
    return "" if case.get("only") == "read" else judge_at(lib, os.path.join(folder, case["name"]), case)


def judge_at(lib, uri, case):
    """What is wrong with the array at `uri`, or nothing."""
    for i, q in enumerate(case["queries"]):
        got, want = rows(lib.read(uri, case, q), q["fields"]), rows(q["expect"], q["fields"])
        if q["layout"] == "unordered" or case["schema"].get("dups"):
            got, want = sorted(got, key=str), sorted(want, key=str)
        if got != want:
            at = next((k for k, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            return f"query {i} ({q['layout']} {q['window']}): {len(got)} of {len(want)} cells; cell {at}: {got[at : at + 1]} for {want[at : at + 1]}"[:400]
    window = None if case.get("now") is None else (0, case["now"])
    if "metadata" in case and lib.metadata(uri, window, key=case.get("key")) != case["metadata"]:
        return "other metadata"
    return ""


def work(folder, lines):
    """Judges each case in a process that may crash. The case gets a second chance, since libtiledb's
    threads crash once in many thousand reads whoever wrote the array; then the next one goes on."""
    crashed = None
    while lines:
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            lib = capi.Lib(config=CONFIG)
            with os.fdopen(theirs, "w", buffering=1) as out:
                for line in lines:
                    case = json.loads(line)
                    try:
                        why = judge(lib, folder, case)
                    except capi.TileDBError as e:
                        why = str(e)
                    out.write(json.dumps([case["name"], why]) + "\n")
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as f:
            done = f.read().splitlines()
        status = os.waitpid(pid, 0)[1]
        lines = lines[len(done) :]
        if lines and crashed == lines[0]:
            done.append(json.dumps([json.loads(lines[0])["name"], f"libtiledb died of it twice (status {status})"]))
            lines = lines[1:]
        crashed = lines[0] if lines else None
        sys.stdout.write("".join(line + "\n" for line in done))
        sys.stdout.flush()


def main(ours, theirs):
    lines = []
    for path in sorted(glob.glob(os.path.join(theirs, "cases-*.jsonl"))):
        with open(path) as f:
            lines += f.read().splitlines()
    pids = []
    for k in range(WORKERS):
        pid = os.fork()
        if pid == 0:
            work(ours, lines[k::WORKERS])
            os._exit(0)
        pids.append(pid)
    return any(os.waitpid(pid, 0)[1] for pid in pids)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
