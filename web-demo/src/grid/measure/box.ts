// Statistics of the cells of a box, read from the finest level in parts.
import { partsOf, readBox, sizeOf, tilesOf, type Box, type Look } from "../cells";
import type { Loaded } from "../model";
import { Totals, type Statistics } from "./totals";

/** The most cells in a box, and in a part of it that is read at once. */
export const BOX_MAX = 100_000_000;
const PART_MAX = 1_000_000;

/** Reads a box, and tells after each part what was found so far and how many cells were read. */
export async function measureBox(loaded: Loaded, box: Box, at: Readonly<Record<string, number>>, signal: AbortSignal, onPart: (found: Statistics, cells: number) => void): Promise<void> {
  const array = loaded.levels[0]?.array;
  const cells = sizeOf(box);
  if (!array) return;
  if (cells > BOX_MAX) throw new Error(`This box has ${cells.toLocaleString("en")} cells; at most ${BOX_MAX.toLocaleString("en")} are measured. Choose a smaller box, or save the cells with \`hyperslab export\` and measure the file.`);
  const totals = new Totals(loaded.meaning);
  let read = 0;
  for (const part of partsOf(box, PART_MAX, tilesOf(array, loaded))) {
    totals.add(valuesOf(part, await readBox(array, loaded, part, at, signal)));
    signal.throwIfAborted();
    onPart(totals.statistics, read += sizeOf(part));
  }
}

function* valuesOf({ c0, c1, r0, r1 }: Box, look: Look): Generator<number | bigint | null> {
  for (let row = r0; row <= r1; row += 1) for (let column = c0; column <= c1; column += 1) yield look(column, row);
}
