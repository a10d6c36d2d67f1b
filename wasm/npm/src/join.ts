// Concatenates the cells of results.
import { HyperslabError } from "./errors.js";
import type { RawResult } from "./get.js";
import type { RawColumn } from "./values.js";

/** Concatenates results, each with the columns of the first. */
export function joined(first: RawResult, batches: readonly RawResult[]): RawResult {
  const join = (raw: RawColumn, i: number): RawColumn => {
    const parts = batches.map((b) => b.columns[i] ?? raw);
    const { data, validity, offsets, ...rest } = raw;
    let base = 0;
    const starts = parts.map((p) => (base += p.data.length) - p.data.length);
    const shifted = parts.map((p, k) => p.offsets?.subarray(k === 0 ? 0 : 1).map((o) => o + (starts[k] ?? 0)) ?? new Uint32Array());
    return {
      ...rest,
      data: concat(parts.map((p) => p.data), Uint8Array),
      ...(offsets ? { offsets: concat(shifted, Uint32Array) } : {}),
      ...(validity ? { validity: concat(parts.map((p) => p.validity ?? new Uint8Array()), Uint8Array) } : {}),
    };
  };
  return { columns: first.columns.map(join), cells: batches.reduce((sum, b) => sum + b.cells, 0) };
}

/** Concatenates arrays. */
export function concat<T extends Uint8Array | Uint32Array>(parts: T[], Typed: new (length: number) => T): T {
  const whole = allocate(parts.reduce((sum, p) => sum + p.length, 0), Typed);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Allocates an array, if there is memory for it. Its length is limited by the 32-bit offsets. */
export function allocate<T>(length: number, Typed: new (length: number) => T): T {
  try {
    if (length < 2 ** 32) return new Typed(length);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new HyperslabError("LimitExceeded", `a column of ${length} bytes does not fit in memory; read smaller boxes, or batches with for await`);
}
