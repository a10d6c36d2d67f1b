// Arrays that real applications wrote, and what Python reads from them.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { HYPERSLAB } from "./page.mjs";

const packed = readFileSync(new URL("../../tests/conventions/examples.json.gz", import.meta.url));
const examples = JSON.parse(gunzipSync(packed).toString());

/** Writes an example to a folder of its name, with a manifest for the array or the group at `path` in it. */
export function unpack(folder, name, path = "") {
  for (const [file, bytes] of Object.entries(examples[name])) {
    const target = join(folder, name, file);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, Buffer.from(bytes, "hex"));
  }
  execFileSync(HYPERSLAB, ["index", join(folder, name, path)], { stdio: "pipe" });
  return join(folder, name, path);
}

/** Runs a script in the Python with libtiledb. It prints JSON. */
export function python(script, ...args) {
  const program = process.env["HYPERSLAB_PYTHON"];
  if (!program) throw new Error("HYPERSLAB_PYTHON must be set; `cargo xtask test viewer` sets it");
  return JSON.parse(execFileSync(program, ["-c", script, ...args], { maxBuffer: 2 ** 28 }).toString());
}
