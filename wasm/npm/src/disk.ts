// Finds the package's files in Node.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { HyperslabError } from "./errors.js";

/** The path of a file in the package's folder `dist`. Bundlers for servers move this module, but leave the package in place. */
export function packageFile(name: string): string {
  const near = import.meta.url.startsWith("file:") ? join(dirname(fileURLToPath(import.meta.url)), name) : "";
  if (existsSync(near)) return near;
  try {
    const { resolve } = createRequire(join(process.cwd(), "package.json"));
    return join(dirname(resolve("hyperslab/package.json")), "dist", name);
  } catch (error) {
    throw new HyperslabError("NotFound", `${near || name}: there is no such file, and no package "hyperslab" in ${process.cwd()}; keep the package out of the bundle, or import "hyperslab/inline"`, { cause: error });
  }
}
