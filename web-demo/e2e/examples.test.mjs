// The arrays and groups that applications wrote: each is drawn, listed or explained, and values are those of tiledb-py.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { python, unpack } from "./examples.mjs";
import { colours, serve, settled, shot, visit } from "./page.mjs";

const described = new URL("../../tests/conventions/", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "examples-"));
/** The paths of the examples that have a description: `bioimg_ome`, `cf_xarray/air` and so on. */
const paths = readdirSync(described).filter((name) => name.endsWith(".json")).map((name) => name.replace(".json", "").replaceAll("-", "/"));
let data;

before(async () => {
  data = await serve(folder);
  for (const name of new Set(paths.map((path) => path.split("/")[0]))) unpack(folder, name, paths.find((path) => path.split("/")[0] === name).split("/").slice(1).join("/"));
});
after(() => rmSync(folder, { recursive: true }));

const open = (path, more = "") => visit(`#url=${encodeURIComponent(`${data}${path}`)}${more}`);

test("every example is drawn, listed or explained, and nothing fails", async () => {
  const seen = {};
  const { page, errors } = await visit();
  for (const path of paths) {
    await page.evaluate((url) => { location.hash = `#url=${encodeURIComponent(url)}`; }, `${data}${path}`);
    await page.waitForFunction((path) => document.getElementById("url").value.endsWith(path), path);
    await settled(page);
    await shot(page, `example-${path.replaceAll("/", "-")}`);
    const has = (selector) => page.locator(selector).count();
    const message = await page.locator("#message").isVisible() ? await page.textContent("#message") : "";
    if (message) seen[path] = message;
    else if (await has("#picture")) seen[path] = (await colours(page)) > 1 ? "picture" : "nothing";
    else seen[path] = (await has("[role=grid]")) ? "table" : (await has("#members li")) ? "members" : "nothing";
    assert.deepEqual((await errors()).filter((error) => !error.includes("status of 404")), [], path);
  }
  assert.deepEqual(Object.entries(seen).filter(([, what]) => !/^(picture|table|members)$/.test(what)), []);
  assert.equal(seen["soma_experiment"], "picture");
  assert.equal(seen["soma_experiment/obs"], "table");
  assert.equal(seen["bioimg_ome"], "picture");
});

/** The text about the cell in the middle, without the names of axes. */
async function middle(page) {
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.move(box.x + box.width / 2 + 1, box.y + box.height / 2 + 1);
  return page.textContent("#cursor");
}

/** Cells of arrays: the value in the middle of the last two dimensions, at the first position of the others. */
const MIDDLE = `
import json, sys, tiledb
found = {}
for path in sys.argv[2:]:
    with tiledb.open(sys.argv[1] + "/" + path) as array:
        cells = array[:]
        cells = cells if not isinstance(cells, dict) else next(iter(cells.values()))
        while cells.ndim > 2:
            cells = cells[0]
        found[path] = float(cells[cells.shape[0] // 2, cells.shape[1] // 2])
print(json.dumps(found))`;

test("the value under the cursor is that of tiledb-py", async () => {
  const found = python(MIDDLE, folder, "bioimg_ome/l_0.tdb", "gdal_mdim/temp", "cf_xarray/packed");
  const { page } = await open("bioimg_ome");
  assert.match(await middle(page), new RegExp(`^Y 8 µm, X 12 µm: ${found["bioimg_ome/l_0.tdb"]}$`));

  const other = await open("gdal_mdim/temp");
  assert.match(await middle(other.page), new RegExp(`: ${found["gdal_mdim/temp"]} K$`));
});

test("a raster has the unit of its coordinate reference system, and a scale bar", async () => {
  const { page, errors } = await open("gdal_raster");
  assert.match(await page.textContent("#graticule .scale"), /^\d+ m$/);
  assert.match(await middle(page), /^Y 4,999,\d+ m, X 500,\d+ m: /);
  assert.deepEqual(await errors(), []);
});

test("channels are drawn together in their colours, and alone in a colour map", async () => {
  const { page, errors } = await open("gdal_raster_modes/band");
  assert.equal(await page.locator("#channels .row").count(), 3);
  const together = await colours(page);
  await page.uncheck("#blend");
  await settled(page);
  assert.ok(await page.locator("#legend").isVisible());
  assert.ok(together > 50 && (await colours(page)) > 20);
  assert.match(await page.url(), /blend=off/);
  assert.deepEqual(await errors(), []);
});

test("groups list their members, and a member is shown when it is chosen", async () => {
  const { page } = await open("gdal_vector");
  assert.match(await page.textContent("#members"), /things/);
  await page.click("#members li button");
  await page.waitForFunction(() => location.hash.includes("things"));
});

