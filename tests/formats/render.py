"""Writes the results of the scripts that compare imports into `docs/imported-files.md`: `RESULTS PAGE`.

RESULTS is a folder of JSON lines, a file per format. The tables replace what is between the markers of the page.
"""

import json
import sys
from pathlib import Path

START, END = "<!-- files: written by `cargo xtask compare-files` -->", "<!-- end of files -->"
# Notes that name nothing that is lost.
HARMLESS = ("is unlimited", "has length 0")


def summary(formats):
    lines = ["| format | files | the same | refused | different |", "| --- | --- | --- | --- | --- |"]
    for name, rows in formats.items():
        counts = [sum(row["result"] == result for row in rows) for result in ("same", "refused", "differs")]
        lines.append(" | ".join([f"| {name}", str(len(rows)), *map(str, counts)]) + " |")
    return lines


def table(name, rows):
    lines = [f"### {name}", "", "| file | result | notes |", "| --- | --- | --- |"]
    for row in rows:
        notes = [note for note in row["notes"] if not any(words in note for words in HARMLESS)]
        shown = "; ".join(notes).replace("|", "\\|").replace("<", "\\<")
        lines.append(f"| `{row['file']}` | {row['result']} | {shown} |")
    return [*lines, ""]


def main(results, page):
    formats = {}
    for path in sorted(Path(results).glob("*.jsonl")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            formats.setdefault(row["format"], []).append(row)
    parts = [line for name, rows in formats.items() for line in table(name, rows)]
    text = Path(page).read_text()
    before, rest = text.split(START)
    _, after = rest.split(END)
    tables = "\n".join([START, "", *summary(formats), "", *parts, END])
    Path(page).write_text(before + tables + after)


if __name__ == "__main__":
    main(*sys.argv[1:])
