// Opens pages in a real browser, which report results in their titles.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

/** Opens the page of a server, which has a `url` and a `close`, `times` times, and returns its titles. The page may only log errors that `expected` matches. */
export async function titles(server, times, expected) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--no-first-run"] });
  try {
    const page = await browser.newPage();
    const errors = [];
    page.on("console", (m) => m.type() === "error" && !expected?.test(m.text()) && errors.push(m.text()));
    page.on("pageerror", (e) => errors.push(String(e)));
    const found = [];
    for (let i = 0; i < times; i += 1) {
      await page.goto(`${server.url}${server.path ?? "/index.html"}`);
      await page.waitForFunction(() => document.title !== "", undefined, { timeout: 30_000 }).catch(() => {});
      assert.deepEqual(errors, []);
      found.push(JSON.parse(await page.title()));
    }
    return found;
  } finally {
    await browser.close();
    await server.close();
  }
}
