// Checks with axe-core that everybody can use the page: labels, roles, contrast, in light and in dark, wide and narrow.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { settled, stored, visit } from "./page.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGES = { grid: "#url=data/elevation/elevation&box=10,10,90,60", points: "#url=data/earthquakes/earthquakes", message: "#url=nothing" };

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    test(`axe-core finds nothing in ${colorScheme} at ${width} pixels`, async () => {
      for (const [name, hash] of Object.entries(PAGES)) {
        const { page } = await visit(hash, { colorScheme, viewport: { width, height: 800 } });
        if (name === "grid") await page.click("#take-away summary");
        if (name !== "message") await page.click("#share summary");
        if (name !== "message") await page.check("#show-writes");
        await page.click("#traffic");
        assert.deepEqual(await faults(page), [], name);
        assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight), `${name}: only the panel scrolls`);
      }
    });
  }
}

stored("axe-core finds nothing in the forms that edit", async () => {
  for (const [hash, select, options] of [[PAGES.grid, (page) => page.check("#one-cell"), { colorScheme: "dark" }], [PAGES.points, (page) => page.click(["#edit button", "New point"]), { viewport: { width: 390, height: 800 } }]]) {
    const { page } = await visit(hash, options);
    await page.click("#edit button");
    await page.waitForFunction(() => location.hash.includes("opfs"));
    await settled(page);
    await select(page);
    await page.waitForSelector("#edit form");
    assert.deepEqual(await faults(page), []);
  }
});

/** The findings of axe-core. */
async function faults(page) {
  const { violations } = await page.evaluate(`() => { ${axe}; return axe.run(); }`);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, any }) => `${id}: ${target}: ${any.map(({ message }) => message)}`));
}
