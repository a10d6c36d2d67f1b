// Statistics of stored values, part by part: sums of integers are exact, and sums of other numbers are compensated.
import { isNoData, isPacked, type Meaning } from "../values";

/** How values are unpacked, and which do not count. */
export type Reading = Pick<Meaning, "missing" | "valid" | "scale" | "offset">;

/** Statistics of unpacked values. Exact integers are bigint. */
export interface Statistics {
  readonly count: number;
  readonly missing: number;
  readonly min: number | bigint | undefined;
  readonly max: number | bigint | undefined;
  readonly sum: number | bigint;
  readonly mean: number;
  /** The standard deviation of these values, as a whole: divided by their number. */
  readonly deviation: number;
}

/** Adds up values. */
export class Totals {
  private count = 0;
  private missing = 0;
  private min: number | bigint | undefined;
  private max: number | bigint | undefined;
  private integers = 0n;
  private floats = 0;
  /** The rounding error of `floats` so far. */
  private lost = 0;
  private areIntegers = true;
  /** The first value. Deviations are computed from distances to it, which are small. */
  private pivot: number | bigint | undefined;
  private mean = 0;
  private squares = 0;

  constructor(private readonly reading: Reading) {}

  /** Adds a part of at most a million stored values, so that sums of 32-bit integers stay exact. */
  add(part: Iterable<number | bigint | null>): void {
    const distances: number[] = [];
    let integers = 0;
    for (const value of part) {
      if (isNoData(value, this.reading)) {
        this.missing += 1;
        continue;
      }
      if (this.min === undefined || value < this.min) this.min = value;
      if (this.max === undefined || value > this.max) this.max = value;
      if (typeof value === "bigint") this.integers += value;
      else if (Number.isSafeInteger(value)) {
        if (!Number.isSafeInteger(integers + value)) {
          this.integers += BigInt(integers);
          integers = 0;
        }
        integers += value;
      }
      else this.addFloat(value);
      this.pivot ??= value;
      distances.push(typeof value === "bigint" && typeof this.pivot === "bigint" ? Number(value - this.pivot) : Number(value) - Number(this.pivot));
    }
    this.integers += BigInt(integers);
    this.merge(distances);
  }

  /** The statistics of all parts. */
  get statistics(): Statistics {
    const { count, missing, reading: { scale, offset } } = this;
    const sum = this.areIntegers ? this.integers : this.floats + this.lost + Number(this.integers);
    const deviation = count === 0 ? NaN : Math.sqrt(this.squares / count);
    const mean = count === 0 ? NaN : Number(sum) / count;
    if (!isPacked({ scale, offset })) return { count, missing, min: this.min, max: this.max, sum, mean, deviation };
    const ends = [this.min, this.max].map((end) => (end === undefined ? undefined : Number(end) * scale + offset));
    const [min, max] = scale < 0 ? [ends[1], ends[0]] : ends;
    return { count, missing, min, max, sum: Number(sum) * scale + offset * count, mean: mean * scale + offset, deviation: deviation * Math.abs(scale) };
  }

  private addFloat(value: number): void {
    const sum = this.floats + value;
    if (Number.isFinite(sum)) this.lost += Math.abs(this.floats) >= Math.abs(value) ? this.floats - sum + value : value - sum + this.floats;
    this.floats = sum;
    this.areIntegers = false;
  }

  /** Merges the deviations of a part: B. Welford's method for parts, by T. Chan, G. Golub and R. LeVeque. */
  private merge(distances: readonly number[]): void {
    const added = distances.length;
    if (added === 0) return;
    const mean = distances.reduce((a, b) => a + b, 0) / added;
    const squares = distances.reduce((a, b) => a + (b - mean) ** 2, 0);
    const apart = mean - this.mean;
    const count = this.count + added;
    this.squares += squares + (apart ** 2 * this.count * added) / count;
    this.mean += (apart * added) / count;
    this.count = count;
  }
}
