// Reads boxes of a dense array with the npm package from memory, both in Node and in a web page.

/**
 * Reads one box after another in a newly opened array, as in the native runs.
 * @param {object} engine the package
 * @param {Iterable<[string, Uint8Array]>} files paths and contents of the array's files
 * @param {{boxes: number[][], sum: number}} asked the boxes, and the expected sum
 * @param {() => number} cpu returns the processor time so far, in milliseconds
 * @returns the time per box in milliseconds, and whether all results were correct
 */
export async function reads({ MemoryStore, get, open }, files, { boxes, sum }, runs, seconds, cpu) {
  const store = new MemoryStore();
  for await (const [path, bytes] of files) await store.set(path, bytes);

  // Reuse the result's memory, as in the native runs.
  const spare = new Map();
  async function pass(use) {
    const array = await open(store);
    const began = [performance.now(), cpu()];
    for (const [top, bottom, left, right] of boxes) {
      const cells = (bottom - top + 1) * (right - left + 1);
      const chunk = await get(array, [[top, bottom], [left, right]], { out: spare.get(cells) });
      spare.set(cells, chunk.data);
      use(chunk);
    }
    return [performance.now() - began[0], cpu() - began[1]];
  }

  let found = 0n;
  await pass(({ data }) => data.forEach((value) => (found += BigInt(value))));
  const walls = [];
  const cpus = [];
  const started = performance.now();
  for (let k = 0; k < runs && (k === 0 || performance.now() - started < seconds * 1e3); k++) {
    const [wall, taken] = await pass(() => {});
    walls.push(wall / boxes.length);
    cpus.push(taken / boxes.length);
  }
  const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
  return { median: median(walls), min: Math.min(...walls), runs: walls.length, params: { values: walls, cpu: median(cpus), check_ok: found === BigInt(sum) } };
}
