// Many reads with one signal.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { create, get, HttpStore, MemoryStore, open, prefetch, put, query } from "hyperslab";
import { both } from "./both.mjs";
import { counted, line } from "./fixtures.mjs";
import { serve } from "./serve.mjs";

const store = new MemoryStore();
await put(await create(store, line, { at: 1 }), null, counted, { at: 2 });
const server = await serve(store);
after(() => server.close());

const READS = {
  get: (array, signal) => get(array, null, { signal }),
  query: (array, signal) => query(array, { signal }).columns(),
  count: (array, signal) => query(array, { signal }).count(),
  prefetch: (array, signal) => prefetch(array, null, { signal }),
  meta: (array, signal) => array.meta({ signal }),
};

both("many reads may share a signal, which aborts them all", async (pool) => {
  const warnings = [];
  const hear = (warning) => warnings.push(warning.name);
  process.on("warning", hear);
  for (const [name, read] of Object.entries(READS)) {
    const array = await open(new HttpStore(server.url), { ...(pool ? { pool } : {}) });
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 30 }, () => read(array, signal)));
    const controller = new AbortController();
    const reads = Array.from({ length: 30 }, () => read(array, controller.signal).then(() => "read", (error) => error));
    const reason = new Error("stop");
    controller.abort(reason);
    assert.deepEqual(await Promise.all(reads), Array(30).fill(reason), name);
  }
  await new Promise(setImmediate);
  process.off("warning", hear);
  assert.deepEqual(warnings, []);
});

test("a signal that was used and aborted ends later reads", async () => {
  const array = await open(store);
  const controller = new AbortController();
  await get(array, null, { signal: controller.signal });
  controller.abort();
  await assert.rejects(get(array, null, { signal: controller.signal }), { name: "AbortError" });
});
