// Puts the page, its style and the hyperslab package beside the compiled modules, so that `dist`
// is a complete static site.
import { cp, mkdir } from "node:fs/promises";

const here = new URL("./", import.meta.url);
await mkdir(new URL("dist/", here), { recursive: true });
for (const file of ["index.html", "style.css"]) await cp(new URL(file, here), new URL(`dist/${file}`, here));
await cp(new URL("../wasm/npm/dist/", here), new URL("dist/hyperslab/", here), { recursive: true });
