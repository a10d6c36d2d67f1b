// Finds the point under the pointer. Points are put into the squares of a grid, so that few are compared.

export class NearestPoint {
  private readonly side: number;
  private readonly starts: Uint32Array;
  private readonly rows: Uint32Array;
  private readonly x0: number;
  private readonly y0: number;
  private readonly step: number;

  /** `positions`: x, y of each point; NaN for points that have no place. */
  constructor(private readonly positions: Float32Array, { x, y }: { x: readonly [number, number]; y: readonly [number, number] }) {
    const length = positions.length / 2;
    this.side = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(length / 4))));
    [this.x0, this.y0] = [x[0], y[0]];
    this.step = Math.max(x[1] - x[0], y[1] - y[0]) / this.side || 1;
    this.starts = new Uint32Array(this.side * this.side + 1);
    const squares = new Int32Array(length);
    let placed = 0;
    for (let row = 0; row < length; row += 1) {
      const square = this.squareOf(positions[row * 2] ?? NaN, positions[row * 2 + 1] ?? NaN);
      squares[row] = square;
      if (square < 0) continue;
      placed += 1;
      this.starts[square + 1] = (this.starts[square + 1] ?? 0) + 1;
    }
    for (let s = 1; s < this.starts.length; s += 1) this.starts[s] = (this.starts[s] ?? 0) + (this.starts[s - 1] ?? 0);
    this.rows = new Uint32Array(placed);
    const next = this.starts.slice();
    squares.forEach((square, row) => {
      if (square >= 0) this.rows[next[square] ?? 0] = row;
      if (square >= 0) next[square] = (next[square] ?? 0) + 1;
    });
  }

  /** The nearest shown point within `reach`; `undefined` if there is none. */
  at(x: number, y: number, reach: number, isShown: (row: number) => boolean): number | undefined {
    const cell = (v: number, from: number) => Math.max(0, Math.min(this.side - 1, Math.floor((v - from) / this.step)));
    let [best, least] = [undefined as number | undefined, reach * reach];
    for (let j = cell(y - reach, this.y0); j <= cell(y + reach, this.y0); j += 1) {
      for (let i = cell(x - reach, this.x0); i <= cell(x + reach, this.x0); i += 1) {
        for (let k = this.starts[j * this.side + i] ?? 0; k < (this.starts[j * this.side + i + 1] ?? 0); k += 1) {
          const row = this.rows[k] ?? 0;
          const far = ((this.positions[row * 2] ?? NaN) - x) ** 2 + ((this.positions[row * 2 + 1] ?? NaN) - y) ** 2;
          if (far <= least && isShown(row)) [best, least] = [row, far];
        }
      }
    }
    return best;
  }

  private squareOf(x: number, y: number): number {
    if (Number.isNaN(x + y)) return -1;
    const cell = (v: number, from: number) => Math.max(0, Math.min(this.side - 1, Math.floor((v - from) / this.step)));
    return cell(y, this.y0) * this.side + cell(x, this.x0);
  }
}

/** The range of x and y of points. */
export function extentOf(positions: Float32Array): { x: [number, number]; y: [number, number] } {
  const [x, y]: [[number, number], [number, number]] = [[Infinity, -Infinity], [Infinity, -Infinity]];
  positions.forEach((v, i) => {
    const range = i % 2 === 0 ? x : y;
    if (v < range[0]) range[0] = v;
    if (v > range[1]) range[1] = v;
  });
  return x[0] <= x[1] && y[0] <= y[1] ? { x, y } : { x: [0, 1], y: [0, 1] };
}
