// Opens pages in a real browser, which report results in their titles.
import assert from "node:assert/strict";
import { launch } from "./browser.mjs";

/** Opens the page of a server, which has a `url` and a `close`, `times` times, and returns its titles. The page may only log errors that `expected` matches. */
export async function titles(server, times, expected) {
  let page;
  try {
    page = await launch();
    const found = [];
    for (let i = 0; i < times; i += 1) {
      await page.visit(`${server.url}${server.path ?? "/index.html"}`);
      const title = await reported(page);
      assert.deepEqual((await page.errors()).filter((error) => !expected?.test(error)), []);
      found.push(JSON.parse(title));
    }
    return found;
  } finally {
    await page?.close();
    await server.close();
  }
}

/** The title of the page, once it has one. Empty if it gets none in time. */
async function reported(page) {
  const end = Date.now() + 30_000;
  for (;;) {
    const title = await page.title();
    if (title !== "" || Date.now() > end) return title;
    await new Promise((done) => setTimeout(done, 50));
  }
}
