// Builds the TypeScript of the package into dist, which already has the engine: modules for pages and Node, a CommonJS
// module for `require`, and the entry point `inline`, which contains the engine.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "dist");
const read = (name) => readFileSync(join(dist, name));
const write = (name, text) => writeFileSync(join(dist, name), text);
const minified = async (code) => (await minify(code, { module: true, ecma: 2022, keep_classnames: true })).code;

execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "-p", here], { stdio: "inherit" });
// Puts libraries into the modules that use them, so that pages need no bundler and the package no dependencies.
const libraries = { "arrow.js": ["@uwdata/flechette"], "zip.js": ["unzipit", "client-zip"] };
for (const name of Object.keys(libraries)) write(name, await withLibrary(name));
for (const name of ["arrow-types.js", "arrow-types.d.ts"]) rmSync(join(dist, name));
const notices = [...new Set(Object.values(libraries).flat())].map((library) => `${library}\n\n${readFileSync(join(here, "node_modules", library, licenceOf(library)))}`);
write("LICENSES.txt", notices.join("\n\n"));
// Minifies, because pages load these files, mostly without a bundler. Users see the names of classes.
const names = readdirSync(dist).filter((name) => name.endsWith(".js") && name !== "core.js" && name !== "inline.js");
for (const name of [...names, "core.js"]) write(name, await minified(`${read(name)}`));
// One module for `hyperslab/deck`, which shares the rest of the package with the other entry points.
const above = { name: "above", setup: ({ onResolve }) => onResolve({ filter: /^\.\.\// }, ({ path }) => ({ path, external: true })) };
const layers = await build({ entryPoints: [join(dist, "deck/index.js")], bundle: true, write: false, format: "esm", target: "es2022", packages: "external", plugins: [above] });
for (const name of readdirSync(join(dist, "deck")).filter((name) => name.endsWith(".js"))) rmSync(join(dist, "deck", name));
write("deck/index.js", await minified(layers.outputFiles[0].text));

/** A module of dist with the libraries that it imports. */
async function withLibrary(name) {
  const own = {
    name: "own",
    setup({ onLoad, onResolve }) {
      // The package does not use its workers, and bundlers for pages fail at the name of a module of Node.
      onLoad({ filter: /unzipit\.module\.js$/ }, ({ path }) => ({ contents: `${readFileSync(path)}`.replaceAll("await import(moduleId)", "{}") }));
      const isShared = (path, importer) => importer.startsWith(dist) && path !== "./arrow-types.js";
      onResolve({ filter: /^\.\// }, ({ path, importer }) => (isShared(path, importer) ? { path, external: true } : undefined));
    },
  };
  const { outputFiles } = await build({ entryPoints: [join(dist, name)], bundle: true, write: false, format: "esm", target: "es2022", plugins: [own] });
  return outputFiles[0].text;
}

function licenceOf(library) {
  return readdirSync(join(here, "node_modules", library)).find((name) => /^licen[cs]e/i.test(name));
}

/** Bundles modules of dist into one, in which `replaced` has the text of some. */
async function bundled(entry, replaced, options = {}) {
  const plugin = {
    name: "replace",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /./ }, ({ path }) => {
        const name = path.replace(/^\.\//, "");
        return replaced[name] === undefined ? undefined : { path: name, namespace: "replaced" };
      });
      onLoad({ filter: /./, namespace: "replaced" }, ({ path }) => ({ contents: replaced[path], resolveDir: dist }));
    },
  };
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: dist }, bundle: true, write: false, format: "esm", target: "es2022", plugins: [plugin], ...options,
  });
  return outputFiles[0].text;
}

const worker = await minified(await bundled(`import "./worker.js";`, { "places.js": "export const wasm = undefined;" }));
const parts = Object.fromEntries(readdirSync(dist).filter((name) => name.endsWith(".wasm") && !name.includes("-")).map((name) => [name.replace(".wasm", ""), gzipSync(read(name), { level: 9 }).toString("base64")]));
const contents = `export const parts = ${JSON.stringify(parts)}, worker = ${JSON.stringify(worker)};`;
const replaced = Object.fromEntries(["places.js", "script.js"].map((name) => [name, `${read(`inline-${name}`)}`]));
write("inline.js", await minified(await bundled(`${read("inline.js")}`, { ...replaced, "contents.js": contents })));
for (const name of readdirSync(dist).filter((name) => name.startsWith("inline-"))) rmSync(join(dist, name));

// All entry points share one engine.
const platform = { platform: "node", format: "cjs", define: { "import.meta.url": "moduleUrl" }, banner: { js: `const moduleUrl = require("node:url").pathToFileURL(__filename).href;` } };
const whole = await bundled(`export * from "./node.js"; export * as pool from "./pool-node.js"; export * as zip from "./zip.js";`, {}, platform);
write("all.cjs", await minified(whole));
write("node.cjs", `const { pool, zip, ...api } = require("./all.cjs");module.exports = api;`);
for (const [name, entry] of [["pool", "pool-node"], ["zip", "zip"]]) write(`${entry}.cjs`, `module.exports = require("./all.cjs").${name};`);
for (const name of readdirSync(dist).filter((name) => name.endsWith(".d.ts"))) {
  write(name.replace(".d.ts", ".d.cts"), `${read(name)}`.replace(/(from |import\()"(\.\/[^"]*)\.js"/g, `$1"$2.cjs"`));
}
