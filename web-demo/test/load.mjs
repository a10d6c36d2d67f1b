// Loads a TypeScript module of the page for a unit test.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const src = new URL("../src/", import.meta.url);
const npm = new URL("../../wasm/npm/dist/", import.meta.url);

/** The exports of `src/PATH`, such as `table/order.ts`. */
export async function load(path) {
  const hyperslab = { name: "hyperslab", setup: (build) => build.onResolve({ filter: /^hyperslab$/ }, () => ({ path: new URL("node.js", npm).href, external: true })) };
  const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL(path, src))], bundle: true, write: false, format: "esm", platform: "node", target: "node20", plugins: [hyperslab], logLevel: "error" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

/** A column as the package returns it, of fixed-size cells. */
export function column(values, validity) {
  return { values, validity, offsets: undefined, cell: 1, length: values.length, at: (i) => (validity?.[i] === 0 ? null : values[i]) };
}

/** A column of text. */
export function textColumn(texts, validity) {
  const parts = texts.map((text) => Buffer.from(text ?? ""));
  const offsets = new Uint32Array(texts.length + 1);
  parts.forEach((part, i) => (offsets[i + 1] = offsets[i] + part.length));
  return { values: new Uint8Array(Buffer.concat(parts)), validity, offsets, cell: "var", type: "string_utf8", length: texts.length, at: (i) => (validity?.[i] === 0 ? null : texts[i]) };
}

/** A field of a table. */
export function field(name, sort, more = {}) {
  return { name, sort, type: { integer: "int32", float: "float64", text: "string_utf8", category: "int32", bool: "bool", date: "datetime_ms" }[sort] ?? "blob", dimension: false, nullable: false, ...more };
}
