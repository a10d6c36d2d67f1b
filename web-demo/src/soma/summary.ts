// Summarises observations: how many of each category, and the mean of a gene.
import type { Categories } from "./colouring";

export interface Summary {
  readonly count: number;
  /** The mean of the gene, and the part of the observations where it is not 0. `undefined` without a gene. */
  readonly gene: Expressed | undefined;
  /** Categories with observations, the most frequent first. */
  readonly groups: readonly Group[];
}
export interface Expressed { mean: number; share: number }
export interface Group { label: string; code: number; count: number; gene: Expressed | undefined }

/** `rows`: those of the selection; all if absent. */
export function summarize(length: number, rows: Uint32Array | undefined, categories: Categories | undefined, gene: Float32Array | undefined): Summary {
  const groups = categories?.labels.length ?? 0;
  // The last group is that of observations without a category.
  const counts = new Uint32Array(groups + 1);
  const sums = new Float64Array(groups + 1);
  const expressed = new Uint32Array(groups + 1);
  const count = rows?.length ?? length;
  for (let i = 0; i < count; i += 1) {
    const row = rows ? (rows[i] ?? 0) : i;
    const code = categories?.codes[row] ?? -1;
    const group = code < 0 ? groups : code;
    const value = gene?.[row] ?? 0;
    counts[group] = (counts[group] ?? 0) + 1;
    sums[group] = (sums[group] ?? 0) + value;
    if (value !== 0) expressed[group] = (expressed[group] ?? 0) + 1;
  }
  const sum = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0);
  const of = (total: number, nonzero: number, n: number): Expressed | undefined => (gene && n > 0 ? { mean: total / n, share: nonzero / n } : undefined);
  const all = Array.from(counts, (n, code) => ({ label: categories?.labels[code] ?? "(none)", code: code === groups ? -1 : code, count: n, gene: of(sums[code] ?? 0, expressed[code] ?? 0, n) }));
  return {
    count,
    gene: of(sum(sums), sum(expressed), count),
    groups: categories ? all.filter((group) => group.count > 0).sort((a, b) => b.count - a.count) : [],
  };
}
