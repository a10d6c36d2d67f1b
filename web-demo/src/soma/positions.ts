// From the identifiers of observations to their rows. Matrices name observations by identifier.

type Ids = ArrayLike<number | bigint>;
/** The largest table by identifier, in entries. */
const TABLE_MAX = 64 * 2 ** 20;

export class Positions {
  readonly length: number;
  private readonly low: number;
  /** The row of each identifier from `low` on, plus 1. Absent if the identifiers are consecutive. */
  private readonly rows: Uint32Array | undefined;

  constructor(readonly ids: Ids) {
    this.length = ids.length;
    let [low, high, isConsecutive] = [Infinity, -Infinity, true];
    for (let row = 0; row < ids.length; row += 1) {
      const id = Number(ids[row]);
      isConsecutive &&= row === 0 || id === Number(ids[row - 1]) + 1;
      low = Math.min(low, id);
      high = Math.max(high, id);
    }
    this.low = ids.length > 0 ? low : 0;
    if (isConsecutive) return;
    if (high - low >= TABLE_MAX) throw new Error(`the identifiers of the observations reach from ${low} to ${high}, too far apart to join them with the matrices`);
    this.rows = new Uint32Array(high - low + 1);
    for (let row = 0; row < ids.length; row += 1) this.rows[Number(ids[row]) - low] = row + 1;
  }

  /** The row of an observation; -1 if there is none. */
  rowOf(id: number | bigint): number {
    const at = Number(id) - this.low;
    if (this.rows) return (this.rows[at] ?? 0) - 1;
    return at >= 0 && at < this.length ? at : -1;
  }
}
