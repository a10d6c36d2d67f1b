"""The result of each file, for `docs/imported-files.md`. Shared by the scripts that compare imports.

Each script takes the program `hyperslab`, a folder of real files and, for the page, a file of JSON lines to write. It
prints a line for each file. It exits with 1 if a file differs, if the program refuses a file that was the same in the
stored results, or if no file is the same. A new file may be refused.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile


class Differs(Exception):
    """The import does not hold what the file holds."""


class Refused(Exception):
    """The program does not import the file."""


def imported(program, path, folder, *options):
    """Imports a file. Returns the path of the array or group, and the notes of the program."""
    out = os.path.join(folder, "out")
    run = subprocess.run([program, "import", path, out, *options], capture_output=True, text=True)
    if run.returncode:
        if os.path.exists(out):
            raise Differs("the import fails, and leaves something behind")
        raise Refused(why(run.stderr) or f"exit code {run.returncode}")
    notes = [line.removeprefix("note: ") for line in run.stderr.splitlines() if line.startswith("note: ")]
    return out, notes


def why(stderr):
    """The cause in an error of the program, which follows the path of the file."""
    lines = [line.strip() for line in stderr.strip().splitlines()]
    causes = [line.removeprefix("why: ") for line in lines if line.startswith("why: ")]
    return causes[0] if causes else (lines[-1] if lines else "")


def main(name, compare, found):
    """Compares all files of a folder: `SCRIPT PROGRAM FOLDER [ROWS]`. `found` yields the paths of files below it."""
    program, root = sys.argv[1:3]
    paths = sorted(found(root))
    if not paths:
        sys.exit(f"{root} has no {name} files")
    rows = []
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            try:
                result, notes = "same", compare(program, path, folder)
            except Refused as refused:
                result, notes = "refused", [str(refused)]
            except Differs as differs:
                result, notes = "differs", [str(differs)]
        row = {"file": os.path.relpath(path, root), "format": name, "result": result, "notes": notes}
        print(row["file"], result, "; ".join(notes), sep="\t", flush=True)
        rows.append(row)
    problems = worse(name, rows)
    if problems:
        sys.exit("\n".join(problems))
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def worse(name, rows):
    """What is wrong with the results of a format, in sentences."""
    before = stored(name)
    found = [f"{row['file']} differs" for row in rows if row["result"] == "differs"]
    for row in rows:
        if row["result"] == "refused" and before.get(row["file"]) == "same":
            found.append(f"{row['file']} is refused, but it was the same; if that is meant, remove its row from results/")
    if not any(row["result"] == "same" for row in rows):
        found.append(f"no {name} file is the same")
    return found


def stored(name):
    """The stored result of each file of a format."""
    found = {}
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "*.jsonl")):
        with open(path) as lines:
            rows = [json.loads(line) for line in lines]
        found.update((row["file"], row["result"]) for row in rows if row["format"] == name)
    return found


def ending_in(*endings):
    """Finds the files with these endings below a folder."""
    return lambda root: (os.path.join(d, f) for d, _, files in os.walk(root) for f in files if f.endswith(endings))
