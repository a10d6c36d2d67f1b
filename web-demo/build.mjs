// Puts the page, its style and the hyperslab package beside the compiled modules, so that `dist`
// is a complete static site.
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";

const here = new URL("./", import.meta.url);
const dist = new URL("dist/", here);
await mkdir(dist, { recursive: true });
for (const file of ["index.html", "style.css"]) await cp(new URL(file, here), new URL(file, dist));
await cp(new URL("../wasm/npm/dist/", here), new URL("hyperslab/", dist), { recursive: true });

// The policy of the page allows no inline script, and so no import map: modules name the package's files.
const files = { hyperslab: "./hyperslab/index.js", "hyperslab/pool": "./hyperslab/pool.js" };
for (const name of (await readdir(dist)).filter((name) => name.endsWith(".js"))) {
  const text = await readFile(new URL(name, dist), "utf8");
  await writeFile(new URL(name, dist), text.replace(/(from ")(hyperslab(?:\/pool)?)(";)/g, (_, from, module, end) => from + files[module] + end));
}
