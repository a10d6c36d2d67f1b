// Sharing: the link and the HTML of the panel, and the page as it is in a frame of another page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, shot, visit } from "./page.mjs";

for (const [name, hash] of [["grid", "#url=data/elevation/elevation"], ["points", "#url=data/earthquakes/earthquakes"]]) {
  test(`an embedded page of ${name} has the picture, its legend and a link to the whole page`, async () => {
    const { page } = await visit(hash);
    await page.click("#zoom-in");
    await settled(page);
    await page.waitForTimeout(400);
    await page.click("#share summary");
    await page.waitForSelector("#share pre");
    const [link, html] = await page.$$eval("#share pre", (found) => found.map((code) => code.textContent));
    assert.equal(link, await page.url());
    const [, source] = /^<iframe src="([^"]+)" title="[^"]+"/.exec(html);
    const framed = new URL(source.replaceAll("&amp;", "&"));
    const { page: frame, errors } = await visit(framed.hash);
    await frame.waitForTimeout(400);
    assert.equal(await frame.locator("#panel").count() + await frame.locator("#traffic").count(), 0);
    assert.ok(await frame.locator("#legend").isVisible());
    await shot(frame, `embedded-${name}`);
    // The frame keeps being one when its link changes.
    await frame.click("#zoom-out");
    await frame.waitForTimeout(800);
    assert.match(new URL(await frame.url()).hash, /embed=1/);
    await frame.click("#zoom-in");
    await frame.waitForTimeout(800);
    const whole = new URLSearchParams(new URL(link).hash.slice(1));
    const again = new URLSearchParams((await frame.getAttribute("#whole", "href")).slice(1));
    assert.equal(again.get("embed"), null);
    for (const part of ["url", "attr", "map", "z"]) assert.equal(again.get(part), whole.get(part), part);
    assert.deepEqual(await errors(), []);
  });
}
