// The package's types and its description.
import { test } from "node:test";
import { pack, parts, project, tool } from "./projects.mjs";

const use = `
  import { get, init, open, type Chunk, type WasmSources } from "hyperslab";
  import { Pool, type PoolOptions } from "hyperslab/pool";
  import * as inline from "hyperslab/inline";
  const sources: WasmSources = { core: new URL("https://example.org/core.wasm"), codecs: fetch("codecs.wasm"), "core-baseline": "core-baseline.wasm" };
  // @ts-expect-error there is no such file
  export const wrong: WasmSources = { cores: "" };
  const options: PoolOptions = { workers: 2, worker: new URL("https://example.org/worker.js") };
  export async function main(): Promise<Chunk> {
    await init(sources);
    await init("https://example.org/core.wasm");
    const own = await inline.open("x", { pool: new inline.Pool({ worker: "worker.js" }) });
    console.log(own.shape);
    return get(await open("x", { pool: new Pool(options) }), null, { attrs: "a" });
  }
`;

test("TypeScript finds the types in every mode", async () => {
  const folder = await project("types", { typescript: "5.9.3" }, {
    "esm.mts": use, "bundled.ts": use, "common.cts": use.replace(`import * as inline from "hyperslab/inline";`, `import type * as Inline from "hyperslab/inline" with { "resolution-mode": "import" };\n  declare const inline: typeof Inline;`),
  });
  const tsc = (files, ...options) => tool(folder, "typescript/bin/tsc", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--lib", "es2023,dom", ...options, ...files);
  await tsc(["bundled.ts"], "--module", "esnext", "--moduleResolution", "bundler");
  for (const mode of ["node16", "nodenext"]) await tsc(["esm.mts", "common.cts"], "--module", mode);
});

test("publint and are-the-types-wrong find nothing", async () => {
  const folder = await project("lint", { publint: "0.3.25", "@arethetypeswrong/cli": "0.18.5" }, {});
  await tool(folder, "publint/src/cli.js", "run", pack.tarball, "--strict");
  // Modules for pages have no CommonJS form, and files of the engine have no types.
  const rules = ["--exclude-entrypoints", ...parts.map((part) => `${part}.wasm`)];
  await tool(folder, "@arethetypeswrong/cli/dist/index.js", pack.tarball, "--ignore-rules", "cjs-resolves-to-esm", ...rules);
});
