// Copies and exports rows: those that are selected, or else all that are shown.
import { query } from "hyperslab";
import { save } from "../save";
import { toClipboard } from "../ui/clipboard";
import { exportedText, line } from "./cells";
import { PAGE } from "./keyed";
import { countOf, type Range } from "./selection";
import type { TableState } from "./state";

/** The maximum number of rows that are copied to the clipboard. */
const COPIED_MAX = 50_000;
/** The maximum number of ranges of an export as Arrow. */
const RANGES_MAX = 100_000;

/** Copies the selected rows, or else the row of the active cell. */
export async function copyRows(state: TableState, separator: "," | "\t"): Promise<void> {
  await state.task(async (signal) => {
    const { ranges } = state.selected.peek();
    const active = Math.max(0, state.active.peek().row);
    const chosen: readonly Range[] = ranges.length > 0 ? ranges : [[active, active]];
    const count = countOf({ ranges: chosen, anchor: 0 });
    if (count > COPIED_MAX) throw new Error(`${count.toLocaleString("en")} rows are too many to copy (at most ${COPIED_MAX.toLocaleString("en")}); save them as a file`);
    const parts: string[] = [];
    for await (const part of lines(state, chosen, separator, signal)) parts.push(part);
    await toClipboard(parts.join(""));
  });
}

/** Saves rows as a file of lines. */
export async function saveText(state: TableState, name: string, separator: "," | "\t"): Promise<void> {
  await state.task(async (signal) => {
    const blobs: Blob[] = [];
    // The browser may keep blobs on the disk.
    for await (const part of lines(state, rangesOf(state), separator, signal)) blobs.push(new Blob([part]));
    save(new Blob(blobs, { type: separator === "," ? "text/csv" : "text/tab-separated-values" }), `${name}.${separator === "," ? "csv" : "tsv"}`);
  });
}

/** Saves rows as an Arrow IPC stream, in the order of the array. */
export async function saveArrow(state: TableState, name: string): Promise<void> {
  await state.task(async (signal) => {
    const { array } = state;
    const rows = state.rows.peek();
    if (!array || !rows) return;
    const { where, only, region } = state.view.peek();
    // A filtered read of a dense array has the other rows too, with fill values.
    const needsKeys = only !== undefined || region !== undefined || state.selected.peek().ranges.length > 0 || (where !== "" && array.kind === "dense");
    const keys = needsKeys ? rows.runsOf(rangesOf(state), RANGES_MAX) : undefined;
    if (needsKeys && !keys) throw new Error("these rows cannot be saved as Arrow, because the table is not indexed by one integer; save them as CSV");
    const attrs = state.fields.peek().map((field) => field.name);
    const stream = query(array, { signal, attrs, ...(keys ? { ranges: { [keys.name]: keys.runs } } : where ? { where } : {}) }).arrow();
    save(await new Response(stream).blob(), `${name}.arrows`);
  });
}

function rangesOf(state: TableState): readonly Range[] {
  const { ranges } = state.selected.peek();
  const rows = state.rows.peek()?.length ?? 0;
  return ranges.length > 0 ? ranges : rows > 0 ? [[0, rows - 1]] : [];
}

/** A value that was loaded. */
function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a row was dropped from memory before it was written; save fewer rows or columns");
  return value;
}

/** A header, and a line for each row, some rows at a time. */
async function* lines(state: TableState, ranges: readonly Range[], separator: "," | "\t", signal: AbortSignal): AsyncGenerator<string> {
  const fields = state.fields.peek();
  const rows = state.rows.peek();
  if (!rows) return;
  const names = fields.map(({ name }) => name);
  yield line(names, separator);
  for (const [first, last] of ranges) {
    for (let from = first, end = first; from <= last; from = end) {
      // The rows of one page stay in memory while they are written.
      end = Math.min(last + 1, (Math.floor(from / PAGE) + 1) * PAGE);
      await rows.load(from, end, names, signal);
      let text = "";
      for (let row = from; row < end; row += 1) text += line(fields.map((field) => exportedText(field, present(state.valueIn(rows, row, field)))), separator);
      yield text;
    }
  }
}
