// Writes the page and the plots of the results: `node report.mjs RESULTS.csv FOLDER`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [results, folder] = process.argv.slice(2);
const [header, ...lines] = readFileSync(results, "utf8").trim().split("\n").map((line) => line.match(/"[^"]*"|[^,]+/g).map((cell) => cell.replaceAll('"', "")));
const rows = lines.map((cells) => Object.fromEntries(cells.map((cell, i) => [header[i], cell])));
const PHASES = { ready: "load and start the library", open: "open", window: "first 1024² window", revisit: "the window again", pixel: "one pixel", random: "200 pixels", whole: "whole array", scrub: "slider", box: "box of points" };

/** Why a rival is faster in a phase, if it is. */
const WHY = {
  ready: "The engine that reads is one WebAssembly file of 0.6 MB. zarrita loads its codec with the first chunk, which is part of its first window; geotiff.js and hyparquet are small programs.",
  open: "Hyperslab's manifest also has the places of all tiles, which open parses, and without `listing: \"manifest\"` it lists folders too; a Zarr array has one small file of metadata, and Parquet its footer.",
  window: "Without a manifest, a listing and the footers of the fragments come before the first tile.",
  revisit: "Both have the bytes, and neither requests anything.",
  pixel: "Both fetch one tile or chunk.",
  random: "Each pixel is a read of its own here, for every library.",
  whole: "Hyperslab fetches up to 4 MB in one request, and decodes the tiles of a request when all of it is there. zarrita decodes each chunk when it arrives, so that decoding and the network overlap more.",
  scrub: "Requests are aborted with their reads, so the tiles that windows share are fetched again.",
  box: "Both read the tiles or pages that the box touches.",
};

const groups = new Map();
for (const row of rows) {
  const key = `${row.browser} ${row.protocol}, ${row.rtt_ms} ms, ${row.mbit} Mbit/s`;
  groups.set(key, [...(groups.get(key) ?? []), row]);
}
const table = (head, body) => [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
const number = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : Number(value).toFixed(1));
const isOurs = ({ contender }) => contender.startsWith("hyperslab");

/** A table of one measure: a row for each contender, a column for each phase. */
function measure(rows, phases, show) {
  const names = [...new Set(rows.map(({ contender }) => contender))];
  const cell = (name, phase) => rows.find((row) => row.contender === name && row.phase === phase);
  return table(["reader", ...phases.map((phase) => PHASES[phase])], names.map((name) => [name, ...phases.map((phase) => {
    const found = cell(name, phase);
    return found ? show(found) : "";
  })]));
}

/** The phases in which a rival is faster than every setting of Hyperslab. */
function losses(rows, phases) {
  return phases.flatMap((phase) => {
    const of = (ours) => rows.filter((row) => row.phase === phase && isOurs(row) === ours && row.contender !== "h5wasm").reduce((best, row) => (best && Number(best.ms) <= Number(row.ms) ? best : row), undefined);
    const [own, rival] = [of(true), of(false)];
    return own && rival && Number(rival.ms) < Number(own.ms) ? [[PHASES[phase], `${rival.contender}: ${number(rival.ms)} ms`, `${own.contender}: ${number(own.ms)} ms`, WHY[phase]]] : [];
  });
}

const text = (string) => string.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Bars of every phase, each with its own scale. */
function plot(title, rows, phases) {
  const names = [...new Set(rows.map(({ contender }) => contender))];
  const [width, label, row] = [260, 230, 15];
  const height = 30 + names.length * row;
  const perLine = 3;
  const parts = phases.map((phase, i) => {
    const found = names.map((name) => rows.find((r) => r.contender === name && r.phase === phase));
    const most = Math.max(...found.map((r) => Number(r?.ms ?? 0)), 1);
    const [x, y] = [label + (i % perLine) * (width + 20), 40 + Math.floor(i / perLine) * (height + 10)];
    const bars = found.map((r, k) => (r ? `<rect x="${x}" y="${y + 20 + k * row}" width="${Math.max(1, (Number(r.ms) / most) * (width - 60)).toFixed(1)}" height="${row - 4}" fill="${isOurs(r) ? "#1f6feb" : "#a0a7b0"}"/><text x="${(x + (Number(r.ms) / most) * (width - 60) + 4).toFixed(1)}" y="${y + 29 + k * row}">${number(r.ms)}</text>` : "")).join("");
    const labels = i % perLine === 0 ? names.map((name, k) => `<text x="${label - 8}" y="${y + 29 + k * row}" text-anchor="end">${text(name)}</text>`).join("") : "";
    return `<text x="${x}" y="${y + 10}" font-weight="bold">${text(PHASES[phase])} (ms)</text>${bars}${labels}`;
  });
  const [w, h] = [label + perLine * (width + 20), 50 + Math.ceil(phases.length / perLine) * (height + 10)];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" font-family="sans-serif" font-size="10"><rect width="${w}" height="${h}" fill="#fff"/><text x="10" y="22" font-size="15">${text(title)}</text>${parts.join("")}</svg>\n`;
}

let page = `# The npm package and other libraries in a browser

The same cells in each library's format, read over a slow network by each library. \`cargo xtask bench browser\` writes
this page and its plots from [\`browser.csv\`](browser.csv). [\`bench/browser\`](../browser) has the programs.

- Dense: 4096 x 4096 16-bit integers in tiles of 512 x 512, compressed with zstd (GeoTIFF and HDF5: gzip). With 10 and
  100 fragments, the later ones write boxes of 256 x 256 cells again.
- Sparse: 10 million points with a value. The box has 65,467 of them.
- The network is a server that waits a round trip before each response, and one to two more on each new connection. All
  responses share the bandwidth.
- Each time is the fastest of two fresh pages in fresh browsers. Other programs used the same two cores, so trust only
  ratios of 1.5 or more. The numbers of requests and bytes do not depend on that, except for the slider.
- *best* is a library with the settings that its documentation recommends, *default* without. *pool* decodes in workers.
- *slider*: every 16 ms the next of 60 windows, and the earlier read is aborted. The time ends with the last window.
- h5wasm in a page reads files that are fetched whole, which is part of its *open*. Its later phases need no network, so the
  lists of faster libraries leave it out.
- Every answer is compared with the sum of the cells.
`;
for (const [key, all] of groups) {
  for (const [kind, phases] of [["dense", ["ready", "open", "window", "revisit", "pixel", "random", "whole", "scrub"]], ["sparse", ["ready", "open", "box"]]]) {
    const isSparse = new Set(all.filter(({ phase }) => phase === "box").map(({ contender }) => contender));
    const rows = all.filter(({ contender }) => isSparse.has(contender) === (kind === "sparse"));
    if (rows.length === 0) continue;
    const picture = `browser-${kind}-${key.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace("-mbit-s", "")}.svg`;
    writeFileSync(join(folder, picture), plot(`${key}: ${kind}`, rows, phases));
    const lost = losses(rows, phases);
    page += `
## ${key}: ${kind}

![Bars of the times in the table below](${picture})

Milliseconds:

${measure(rows, phases, (row) => number(row.ms) + (row.correct === "true" ? "" : " (wrong answer)"))}

Requests, and KB received:

${measure(rows, phases.filter((phase) => phase !== "revisit" || kind === "dense"), (row) => `${row.requests}, ${number(row.bytes / 1e3)}`)}

The longest time that the page did not respond in a phase (ms), the most memory of the page (MB), and what it loads of the
library (KB of gzip):

${table(["reader", ...phases.slice(1).map((phase) => PHASES[phase]), "memory", "library"], [...new Set(rows.map(({ contender }) => contender))].map((name) => {
    const of = rows.filter((row) => row.contender === name);
    return [name, ...phases.slice(1).map((phase) => { const row = of.find((r) => r.phase === phase); return row ? number(row.longest_task_ms) : ""; }), Math.max(...of.map((row) => Number(row.peak_mb))), number(Math.max(...of.map((row) => Number(row.package_bytes))) / 1e3)];
  }))}

${lost.length > 0 ? `Where another library is faster than every setting of Hyperslab:\n\n${table(["phase", "fastest", "Hyperslab", "why"], lost)}` : "No other library is faster than the fastest setting of Hyperslab."}
`;
  }
}
writeFileSync(join(folder, "browser.md"), page);
