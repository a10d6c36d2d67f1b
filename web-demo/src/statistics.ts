// Summaries of drawn values.

/** A histogram over equal bins, with percentiles. */
export interface Summary {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** The number of sampled values in each bin between `min` and `max`. */
  readonly bins: readonly number[];
  /** The values below which 2 % and 98 % lie. */
  readonly low: number;
  readonly high: number;
}

const BINS = 64;

/** Summarizes a sample of values, of which `extent` has the ends of all. Only finite values count; `undefined` if there are none. */
export function summarize(values: ArrayLike<number>, extent?: readonly [number, number]): Summary | undefined {
  const finite = Float64Array.from({ length: values.length }, (_, i) => values[i] ?? NaN).filter(Number.isFinite).sort();
  const [min, max] = extent ?? [finite[0], finite.at(-1)];
  if (min === undefined || max === undefined) return undefined;
  const bins = Array<number>(BINS).fill(0);
  let sum = 0;
  for (const value of finite) {
    const bin = max > min ? Math.min(BINS - 1, Math.floor(((value - min) / (max - min)) * BINS)) : 0;
    bins[bin] = (bins[bin] ?? 0) + 1;
    sum += value;
  }
  return { count: finite.length, min, max, mean: sum / finite.length, bins, low: percentile(finite, 0.02), high: percentile(finite, 0.98) };
}

/** The value below which a part of the sorted values lies. */
function percentile(sorted: Float64Array, part: number): number {
  return sorted[Math.round(part * (sorted.length - 1))] ?? NaN;
}
