// Boxes of a dense array read by the npm package out of memory, in Node and in a page alike.

/**
 * One box after the other, in an array opened anew, as in the native runs.
 * @param {object} engine the package
 * @param {Iterable<[string, Uint8Array]>} files the array's files by their paths
 * @param {{boxes: number[][], sum: number}} asked
 * @param {() => number} cpu milliseconds of processor time so far
 * @returns how long a box took, in milliseconds, and whether all were read right
 */
export async function reads({ MemoryStore, get, open }, files, { boxes, sum }, runs, seconds, cpu) {
  const store = new MemoryStore();
  for await (const [path, bytes] of files) await store.set(path, bytes);

  // Into memory that is used again, as natively.
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
