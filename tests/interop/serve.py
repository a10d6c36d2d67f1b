"""libtiledb as a servant: a request a line in, an answer a line out, for tests that go back and forth
between the two engines.

{"do": "create", "uri", "case"}             makes the array
{"do": "perform", "uri", "case", "op"}      one operation
{"do": "read", "uri", "case", "query"}      the cells
{"do": "judge", "uri", "case"}              what is wrong with the array, or nothing
{"do": "metadata", "uri", "case"}           the array's metadata
{"do": "sequence", "number"}                a case with random operations

The answer is {"ok": …} or {"error": "…"}.
"""

import json
import sys

import capi
import check
import sequences
from generate import CONFIG


def answer(lib, r):
    if r["do"] == "sequence":
        return sequences.sequence(r["number"])
    uri, case = r["uri"], r["case"]
    if r["do"] == "create":
        return lib.create(uri, case["schema"], case.get("key"))
    if r["do"] == "perform":
        return lib.perform(uri, case, r["op"])
    if r["do"] == "read":
        return lib.read(uri, case, r["query"])
    if r["do"] == "judge":
        return check.judge_at(lib, uri, case)
    if r["do"] == "metadata":
        return lib.metadata(uri, key=case.get("key"))
    raise ValueError(r["do"])


def main():
    lib = capi.Lib(config=CONFIG)
    for line in sys.stdin:
        try:
            out = {"ok": answer(lib, json.loads(line))}
        except capi.TileDBError as e:
            out = {"error": str(e)}
        print(json.dumps(out), flush=True)


if __name__ == "__main__":
    main()
