// Bundles the page into `dist`, a complete static site: the page's modules in a few files, and the hyperslab package as
// it is, because it finds its wasm files and workers by their place.
import { cp, mkdir, rm } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL("./", import.meta.url));
const [dist, npm] = [resolve(here, "dist"), resolve(here, "../wasm/npm/dist")];
await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
for (const file of ["index.html"]) await cp(resolve(here, file), resolve(dist, file));
const filter = (name) => !/(inline\.js|\.cjs|\.d\.c?ts)$/.test(name);
await cp(npm, resolve(dist, "hyperslab"), { recursive: true, filter });

/**
 * Keeps the package's modules out of the bundles, all but its deck.gl layers: those import deck.gl, which a page without
 * import maps can only have in a bundle. Every module of the package must be there once.
 */
const hyperslab = {
  name: "hyperslab",
  setup(build) {
    const outside = (path) => ({ path: `./hyperslab/${relative(npm, path)}`, external: true });
    build.onResolve({ filter: /^hyperslab(\/|$)/ }, ({ path }) => {
      const [, name = "index"] = path.split("/");
      return name === "deck" ? { path: resolve(npm, "deck/index.js") } : outside(resolve(npm, `${name}.js`));
    });
    build.onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const file = resolve(resolveDir, path);
      const inDeck = relative(npm, file).startsWith("deck");
      return file.startsWith(npm) && !inDeck ? outside(file) : undefined;
    });
    // Modules of the package find deck.gl among the page's packages.
    build.onResolve({ filter: /^@deck\.gl\// }, ({ path, resolveDir, pluginData }) =>
      pluginData === "here" || !resolveDir.startsWith(npm) ? undefined : build.resolve(path, { resolveDir: here, kind: "import-statement", pluginData: "here" }));
  },
};

await build({
  entryPoints: { main: resolve(here, "src/main.tsx"), style: resolve(here, "style.css") },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "linked",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [hyperslab],
  logLevel: "warning",
});
