// How cells differ between two moments.
import * as text from "../../text";
import { common, type Box, type Look } from "../cells";
import { isNoData, isPacked, numberOf, valueText, type Meaning } from "../values";

/** How a cell changed. */
export const SAME = 0;
export const CHANGED = 1;
export const APPEARED = 2;
export const VANISHED = 3;

/** The cells of a box at a moment, and what they mean. */
export interface Side { readonly look: Look; readonly meaning: Meaning }

/** The differences in a box, row by row. */
export interface Differences {
  readonly box: Box;
  readonly from: Side;
  readonly to: Side;
  /** How each cell changed. */
  readonly kinds: Uint8Array;
  /** The later value minus the earlier one, of cells that have changed; 0 for labels. */
  readonly changes: Float64Array;
}

/** The number of cells that have changed, appeared and vanished. */
export interface Counts {
  readonly changed: number;
  readonly appeared: number;
  readonly vanished: number;
  /** The largest change, without its sign. */
  readonly most: number;
  /** The box around all of them. */
  readonly around: Box | undefined;
}

/** Compares the cells of a box. */
export function differencesOf(box: Box, from: Side, to: Side): Differences {
  const width = box.c1 - box.c0 + 1;
  const kinds = new Uint8Array(width * (box.r1 - box.r0 + 1));
  const changes = new Float64Array(kinds.length);
  let i = 0;
  for (let row = box.r0; row <= box.r1; row += 1) {
    for (let column = box.c0; column <= box.c1; column += 1, i += 1) {
      const [before, after] = [from.look(column, row), to.look(column, row)];
      kinds[i] = kindOf(before, after, from.meaning, to.meaning);
      if (kinds[i] === CHANGED) changes[i] = Number(changeOf(before, after, from.meaning, to.meaning) ?? 0);
    }
  }
  return { box, from, to, kinds, changes };
}

type Stored = number | bigint | null;

function kindOf(before: Stored, after: Stored, from: Meaning, to: Meaning): number {
  const [wasNone, isNone] = [isNoData(before, from), isNoData(after, to)];
  if (wasNone || isNone) return wasNone === isNone ? SAME : wasNone ? APPEARED : VANISHED;
  // Of equal packing, stored values differ if and only if unpacked ones do, and are exact.
  if (from.scale !== to.scale || from.offset !== to.offset) return numberOf(before, from) === numberOf(after, to) ? SAME : CHANGED;
  if (before !== after) return CHANGED;
  return from.label?.(Number(before)) === to.label?.(Number(after)) ? SAME : CHANGED;
}

/** The later value minus the earlier one: exact for integers. `undefined` if values have labels or there is none. */
function changeOf(before: Stored, after: Stored, from: Meaning, to: Meaning): number | bigint | undefined {
  if (isNoData(before, from) || isNoData(after, to) || from.label || to.label) return undefined;
  if (!isPacked(from) && !isPacked(to) && typeof before === "bigint" && typeof after === "bigint") return after - before;
  if (typeof before === "bigint" && typeof after === "bigint" && from.scale === to.scale && from.offset === to.offset) return Number(after - before) * to.scale;
  return numberOf(after, to) - numberOf(before, from);
}

/** Counts the differences of several boxes without common cells. */
export function countsOf(all: readonly Differences[]): Counts {
  const found = { changed: 0, appeared: 0, vanished: 0, most: 0 };
  let around: Box | undefined;
  for (const { box, kinds, changes } of all) {
    const width = box.c1 - box.c0 + 1;
    kinds.forEach((kind, i) => {
      if (kind === SAME) return;
      const [column, row] = [box.c0 + (i % width), box.r0 + Math.floor(i / width)];
      around = around ? { c0: Math.min(around.c0, column), c1: Math.max(around.c1, column), r0: Math.min(around.r0, row), r1: Math.max(around.r1, row) } : { c0: column, c1: column, r0: row, r1: row };
      if (kind === APPEARED) found.appeared += 1;
      else if (kind === VANISHED) found.vanished += 1;
      else found.changed += 1;
      const change = Math.abs(changes[i] ?? 0);
      if (Number.isFinite(change)) found.most = Math.max(found.most, change);
    });
  }
  return { ...found, around };
}

/** The text for a cell: its values at both moments, and their difference. `undefined` if it is in none of the boxes. */
export function changeText(all: readonly Differences[], column: number, row: number): string | undefined {
  const cell = { c0: column, c1: column, r0: row, r1: row };
  const found = all.find(({ box }) => common(box, cell));
  if (!found) return undefined;
  const { from, to } = found;
  const [before, after] = [from.look(column, row), to.look(column, row)];
  const shown = (value: Stored, meaning: Meaning) => (isNoData(value, meaning) ? "no data" : valueText(value as number | bigint, meaning));
  const kind = kindOf(before, after, from.meaning, to.meaning);
  if (kind === SAME) return `${shown(after, to.meaning)} (unchanged)`;
  const why = kind === APPEARED ? "appeared" : kind === VANISHED ? "disappeared" : signed(changeOf(before, after, from.meaning, to.meaning), to.meaning);
  return `${shown(before, from.meaning)} → ${shown(after, to.meaning)} (${why})`;
}

/** A difference with its sign. Those of dates have the unit of the dates. */
function signed(change: number | bigint | undefined, { datatype }: Meaning): string {
  if (change === undefined) return "changed";
  const size = change < 0 ? -change : change;
  const type = datatype.replace(/^datetime_/, "time_");
  return `${change < 0 ? "−" : "+"}${/^time_/.test(type) ? text.value(size, type) : text.value(size, "")}`;
}
