// Copies the page, its style and the hyperslab package into `dist`, next to the compiled modules. `dist` is then a
// complete static site.
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";

const here = new URL("./", import.meta.url);
const dist = new URL("dist/", here);
await mkdir(dist, { recursive: true });
for (const file of ["index.html", "style.css"]) await cp(new URL(file, here), new URL(file, dist));
const filter = (name) => !/(inline\.js|\.cjs|\.d\.c?ts)$/.test(name);
await cp(new URL("../wasm/npm/dist/", here), new URL("hyperslab/", dist), { recursive: true, filter });

// The page's policy forbids inline scripts, and so import maps. Imports of the package become file paths instead.
const files = { hyperslab: "./hyperslab/index.js", "hyperslab/pool": "./hyperslab/pool.js" };
for (const name of (await readdir(dist)).filter((name) => name.endsWith(".js"))) {
  const text = await readFile(new URL(name, dist), "utf8");
  await writeFile(new URL(name, dist), text.replace(/(from ")(hyperslab(?:\/pool)?)(";)/g, (_, from, module, end) => from + files[module] + end));
}
