"""Writes the matrix with libtiledb: `generate.py OUT [NAME…]`.

Each array lies in OUT/<name>; OUT/cases-<k>.jsonl has a line for each: the case, its queries and what
libtiledb answered. A case that libtiledb itself refuses, or crashes on, is listed in OUT/refused.jsonl
and counted: the Rust tests fail if there are more of those than they know of.
"""

import json
import os
import shutil
import sys
import time

import aggregates
import capi
import cases as c
import matrix

WORKERS = max(2, os.cpu_count() or 2)
# A small budget: consolidation would otherwise clear gigabytes of buffers for a few cells.
CONFIG = {"sm.compute_concurrency_level": 1, "sm.io_concurrency_level": 1, "sm.mem.total_budget": 50_000_000}


def ends_of(case):
    return sorted({op["t"] for op in case["ops"] if op["op"] in ("write", "delete", "evolve")})


def ask(lib, uri, case):
    rng = c.rng_for("ask " + case["name"])
    now = case.get("now")
    queries = c.queries(rng, case, ends_of(case), now, some=1)
    plain = queries[0]
    if case.get("questions"):
        queries = [plain, *rng.sample(queries[1:], min(len(queries) - 1, case["questions"] - 1))]
    for cond in case.get("conds", ()):
        queries.append({**plain, "cond": cond})
        if case["schema"]["kind"] == "sparse":
            queries.append({**plain, "cond": cond, "layout": "unordered"})
    for q in queries:
        q["expect"] = lib.read(uri, case, q)
    # Of every second array one question is asked for its aggregates too.
    if rng.random() < 0.5:
        q = rng.choice(queries)
        q["aggregates"] = aggregates.ask(lib, uri, case, q)
    return queries


def written_in_order(lib, uri, case):
    """Creates and writes the array; whether its fragments' names rise, where that decides who wins."""
    lib.create(uri, case["schema"], case.get("key"))
    names = []
    for op in case["ops"]:
        lib.perform(uri, case, op)
        if "equal times" in case["tags"]:
            names += sorted(set(os.listdir(os.path.join(uri, "__fragments"))) - set(names))
    return names == sorted(names)


def make(lib, out, case):
    uri = os.path.join(out, case["name"])
    # Of fragments of one time the last by name wins, and libtiledb's names are random from one
    # millisecond to the next: those cases are written until the names rise.
    while not written_in_order(lib, uri, case):
        shutil.rmtree(uri)
    case["queries"] = ask(lib, uri, case)
    window = None if case.get("now") is None else (0, case["now"])
    case["metadata"] = lib.metadata(uri, window, key=case.get("key"))


def worker(out, number, todo, refused):
    """Makes the cases of `todo`; gives the number that were done before one failed hard."""
    lib = capi.Lib(config=CONFIG)
    with open(os.path.join(out, f"cases-{number}.jsonl"), "a") as done, open(os.path.join(out, f"progress-{number}"), "w") as progress:
        for i, case in enumerate(todo):
            progress.seek(0)
            progress.write(f"{i:10}")
            progress.flush()
            try:
                make(lib, out, case)
                done.write(json.dumps(case, separators=(",", ":")) + "\n")
                done.flush()
            except capi.TileDBError as why:
                refuse(refused, case, str(why))


def refuse(path, case, why):
    with open(path, "a") as f:
        f.write(json.dumps({"name": case["name"], "why": why}) + "\n")


def supervise(out, number, todo, refused):
    """Runs a worker, and another one behind the case on which libtiledb crashed."""
    while todo:
        pid = os.fork()
        if pid == 0:
            worker(out, number, todo, refused)
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSIGNALED(status):
            return status != 0
        with open(os.path.join(out, f"progress-{number}")) as f:
            at = int(f.read())
        refuse(refused, todo[at], f"libtiledb was killed by signal {os.WTERMSIG(status)}")
        todo = todo[at + 1 :]
    return False


def main(out, names):
    began = time.time()
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    refused = os.path.join(out, "refused.jsonl")
    todo = [case for case in matrix.everything() if not names or any(case["name"].startswith(n) for n in names)]
    pids = []
    for k in range(WORKERS):
        pid = os.fork()
        if pid == 0:
            os._exit(supervise(out, k, todo[k::WORKERS], refused))
        pids.append(pid)
    bad = [pid for pid in pids if os.waitpid(pid, 0)[1]]
    left = 0
    if os.path.exists(refused):
        with open(refused) as f:
            left = len(f.readlines())
    print(f"libtiledb wrote {len(todo) - left} arrays in {time.time() - began:.0f} s and refused {left}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
