import { test } from "node:test";
import { Pool } from "hyperslab/pool";

/** Runs a test with the engine in this thread, and with the engine in workers. */
export function both(title, run) {
  test(title, () => run(undefined));
  test(`${title}, with a pool`, async () => {
    const pool = new Pool({ workers: 2 });
    try {
      await run(pool);
    } finally {
      pool.close();
    }
  });
}
