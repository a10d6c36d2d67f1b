// Runs the JavaScript of the README, the book and the doc comments, in Node or in a page, and compares what it logs with
// what the pages show.
import assert from "node:assert/strict";
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format } from "node:util";
import { blocks, matches } from "./blocks.mjs";
import { launch } from "./browser.mjs";
import { distFiles } from "./dist.mjs";
import { samples } from "./samples.mjs";
import { serve } from "./serve.mjs";

const here = fileURLToPath(new URL("..", import.meta.url));
const docs = join(here, "../../docs");
const inFolder = async (folder, end) => (await readdir(folder)).filter((name) => name.endsWith(end)).map((name) => join(folder, name));
const pages = [join(here, "README.md"), ...(await inFolder(docs, ".md")), ...(await inFolder(join(here, "src"), ".ts"))];
const found = [];
for (const path of pages) {
  const text = await readFile(path, "utf8");
  // Doc comments are pages too.
  const page = path.endsWith(".ts") ? text.split("\n").map((line) => /^ \* ?(.*)/.exec(line)?.[1] ?? "").join("\n") : text;
  found.push(...blocks(page).map((block) => ({ ...block, title: `${path.split("/").at(-1)}:${block.line}` })));
}

/** The server that answers for the hosts of the examples. */
let server;
let folder;
const realFetch = globalThis.fetch;

before(async () => {
  server = await serve(await samples(), { listing: "json" });
  globalThis.fetch = async (request, options) => {
    const url = new URL(request instanceof Request ? request.url : request);
    return /(^|\.)(example\.org|amazonaws\.com|googleapis\.com)$/.test(url.hostname) ? forwarded(url, new Request(request, options)) : realFetch(request, options);
  };
  folder = await mkdtemp(join(tmpdir(), "hyperslab-docs-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(here, join(folder, "node_modules/hyperslab"));
  for (const name of ["zarrita", "@uwdata"]) await symlink(join(here, "node_modules", name), join(folder, "node_modules", name));
  process.chdir(folder);
});
after(async () => {
  process.chdir(here);
  globalThis.fetch = realFetch;
  await server.close();
  await rm(folder, { recursive: true });
});

/** Asks the test's server. It lists buckets as folders of its own. */
async function forwarded(url, request) {
  const query = url.searchParams;
  if (query.has("prefix")) return listed(query, url.hostname.endsWith("googleapis.com"));
  const path = /^(storage|minio)\./.test(url.hostname) ? url.pathname.replace(/^\/[^/]*/, "") : url.pathname;
  return realFetch(server.url + path, { headers: request.headers, signal: request.signal });
}

/** The folders and files in a folder. With `deep`, the files in all folders below. */
async function children(prefix, deep) {
  const answer = await realFetch(`${server.url}/${prefix}`);
  const entries = answer.ok ? await answer.json() : [];
  const folders = entries.filter(({ type }) => type === "directory").map(({ name }) => `${prefix}${name}/`);
  const files = entries.filter(({ type }) => type === "file").map(({ name, size }) => ({ name: prefix + name, size: String(size) }));
  if (!deep) return { folders, files };
  const below = await Promise.all(folders.map((folder) => children(folder, true)));
  return { folders: [], files: [...files, ...below.flatMap(({ files }) => files)] };
}

async function listed(query, isGcs) {
  const { folders, files } = await children(query.get("prefix"), !query.has("delimiter"));
  if (isGcs) return Response.json({ prefixes: folders, items: files });
  const items = [...folders.map((key) => `<CommonPrefixes><Prefix>${key}</Prefix></CommonPrefixes>`), ...files.map(({ name, size }) => `<Contents><Key>${name}</Key><Size>${size}</Size></Contents>`)];
  return new Response(`<ListBucketResult>${items.join("")}</ListBucketResult>`);
}

test("the blocks of a page are found", () => {
  const page = "<!-- js\nlet a = 1;\n-->\n```js\nb\n```\n\n```text\nout\n```\n<!-- check\nc\n-->\n<!-- in a page -->\n```js\nd\n```\ntext\n```text\nno\n```\n<!-- not run: why -->\n```js,no_run\ne\n```\n<!-- file w.js -->\n```js\nf\n```\n";
  const short = blocks(page).map(({ kind, code, output }) => [kind, code, output]);
  assert.deepEqual(short, [["node", "let a = 1;\nb\nc", "out"], ["page", "d", undefined], ["none", "e", undefined], ["file", "f", undefined]]);
  assert.ok(matches("a … c\n", "a b\nb c") && !matches("a …", "b a"));
});

test("there are many examples, and those that are not run say why", () => {
  const count = (kind) => found.filter((block) => block.kind === kind).length;
  assert.ok(count("node") >= 30 && count("page") >= 5, `${count("node")} blocks in Node, ${count("page")} in pages`);
  for (const { kind, before, title } of found) assert.ok(kind !== "none" || before.startsWith("<!-- not run: "), `${title}: write the reason above the block`);
  assert.ok(count("none") <= 3);
});

/** Compares the output of a block, if the page shows one. */
function compare({ output, title }, actual) {
  if (output !== undefined) assert.ok(matches(output, actual), `${title} shows\n${output}\n\nbut the code logs\n${actual}`);
  else assert.equal(actual, "", `${title} shows no output`);
}

for (const block of found.filter(({ kind }) => kind === "node")) {
  test(`${block.title} runs in Node`, async () => {
    const file = join(folder, `${block.title.replace(/\W/g, "-")}.mjs`);
    await writeFile(file, block.code);
    const lines = [];
    const { log } = console;
    console.log = (...values) => lines.push(format(...values));
    try {
      await import(pathToFileURL(file).href);
    } finally {
      console.log = log;
    }
    compare(block, lines.join("\n"));
  });
}

test("the compiler accepts the examples in TypeScript", async () => {
  const typed = found.filter(({ kind }) => kind === "types");
  assert.ok(typed.length > 0);
  const names = typed.map((_, i) => `typed-${i}.mts`);
  for (const [i, { code }] of typed.entries()) await writeFile(join(folder, names[i]), code);
  const options = ["--noEmit", "--skipLibCheck", "--strict", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom"];
  const { error, stdout } = spawnSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), ...options, ...names], { cwd: folder, encoding: "utf8" });
  assert.deepEqual([error, stdout], [undefined, ""], names.map((name, i) => `${name} is ${typed[i].title}`).join("\n"));
});

/** The code for a page, which finds the package and the samples at the test's servers. */
const bare = (code) => code.replaceAll("https://example.org", server.url).replace(/from "hyperslab"/g, `from "/hyperslab/index.js"`).replace(/from "hyperslab\/pool"/g, `from "/hyperslab/pool.js"`).replace(/from "hyperslab\/deck"/g, `from "/hyperslab/deck/index.js"`);

test("the other examples run in a page", async (t) => {
  const encode = (text) => new TextEncoder().encode(text);
  // The README's example of `init` has the files in another folder.
  const files = new Map([...(await distFiles("hyperslab/")), ...(await distFiles("static/"))]);
  const bundle = await build({ entryPoints: { core: "@deck.gl/core", layers: "@deck.gl/layers" }, bundle: true, splitting: true, write: false, format: "esm", outdir: "deck.gl", absWorkingDir: here, logLevel: "error" });
  for (const { path, contents } of bundle.outputFiles) files.set(relative(here, path), contents);
  const imports = `<script type="importmap">${JSON.stringify({ imports: { "@deck.gl/core": "/deck.gl/core.js", "@deck.gl/layers": "/deck.gl/layers.js" } })}</script>`;
  for (const { name, code } of found.filter(({ kind }) => kind === "file")) files.set(name, encode(bare(code)));
  const inPage = found.filter(({ kind }) => kind === "page");
  for (const [i, { code }] of inPage.entries()) {
    files.set(`${i}.js`, encode(bare(`window.logged = [];\nconsole.log = (...values) => logged.push(values.join(" "));\n${code}\ndocument.title = "done";`)));
    files.set(`${i}.html`, encode(`<!doctype html><link rel="icon" href="data:,">${imports}<canvas width="1024" height="1024"></canvas><input type="range"><button>…</button><script type="module" src="${i}.js"></script>`));
  }
  const site = await serve(files, { listing: "none" });
  const page = await launch();
  try {
    for (const [i, block] of inPage.entries()) {
      await t.test(`${block.title} runs in a page`, async () => {
        await page.visit(`${site.url}/${i}.html`);
        await page.wait(`return document.title || undefined`);
        // Stores ask for files that may not exist, and browsers log each answer 404.
        assert.deepEqual((await page.errors()).filter((error) => !/status of 404/.test(error)), []);
        assert.equal(await page.title(), "done");
        compare(block, (await page.run("return window.logged")).join("\n"));
      });
    }
  } finally {
    await page.close();
    await site.close();
  }
});
