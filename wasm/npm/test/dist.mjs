// The files of the built package.
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist", import.meta.url));

/** All files in `dist`, by path, which starts with `prefix`. */
export async function distFiles(prefix = "") {
  const files = (await readdir(dist, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, path, name }) => join(parentPath ?? path, name));
  return new Map(await Promise.all(paths.map(async (path) => [prefix + relative(dist, path), await readFile(path)])));
}
