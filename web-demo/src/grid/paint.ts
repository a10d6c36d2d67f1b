// Painting cells: the cells that a stroke covers, and the write of them as one fragment.
import { get, put, type AxisSelection, type Chunk } from "hyperslab";
import type { LabelledAxis } from "./axes";
import type { Loaded } from "./model";

/** The most cells in the box around a stroke. */
export const STROKE_MAX = 4_000_000;

/** The cells that a brush has covered, as columns and rows of the picture. */
export class Stroke {
  private readonly cells = new Set<string>();
  private box: { c0: number; c1: number; r0: number; r1: number } | undefined;

  constructor(private readonly columns: number, private readonly rows: number) {}

  /** Covers a square of cells around a point of the picture, and those between it and the point before. */
  cover([column, row]: readonly [number, number], size: number, from: readonly [number, number] | undefined): void {
    const steps = from ? Math.max(1, Math.ceil(Math.hypot(column - from[0], row - from[1]))) : 1;
    for (let step = 1; step <= steps; step += 1) {
      const part = step / steps;
      const [c, r] = from ? [from[0] + (column - from[0]) * part, from[1] + (row - from[1]) * part] : [column, row];
      this.square(Math.floor(c - (size - 1) / 2), Math.floor(r - (size - 1) / 2), size);
    }
  }

  /** The covered cells. */
  covered(): [number, number][] {
    return [...this.cells].map((cell) => cell.split(",").map(Number) as [number, number]);
  }

  /** The box around the covered cells. `undefined` if there are none. */
  get around(): { c0: number; c1: number; r0: number; r1: number } | undefined {
    return this.box;
  }

  private square(column: number, row: number, size: number): void {
    for (let r = Math.max(0, row); r < Math.min(this.rows, row + size); r += 1) {
      for (let c = Math.max(0, column); c < Math.min(this.columns, column + size); c += 1) {
        this.cells.add(`${c},${r}`);
        const { c0, c1, r0, r1 } = this.box ?? { c0: c, c1: c, r0: r, r1: r };
        this.box = { c0: Math.min(c0, c), c1: Math.max(c1, c), r0: Math.min(r0, r), r1: Math.max(r1, r) };
      }
    }
  }
}

/**
 * Writes a value into the covered cells, as one fragment. The cells between them keep their values, and all cells those of
 * the other attributes: a dense write fills a box of all attributes.
 */
export async function writeStroke(loaded: Loaded, stroke: Stroke, value: number, at: Readonly<Record<string, number>>): Promise<void> {
  const { levels, variable, x, y, others, meaning } = loaded;
  const [array, box] = [levels[0]?.array, stroke.around];
  if (!array || !box) return;
  const [width, height] = [box.c1 - box.c0 + 1, box.r1 - box.r0 + 1];
  if (width * height > STROKE_MAX) throw new Error(`The box around this stroke has ${width * height} cells; at most ${STROKE_MAX} are written at once. Paint in shorter strokes.`);
  const range = (axis: LabelledAxis, from: number, to: number) => [axis.coordinate(from), axis.coordinate(to)] as AxisSelection;
  const selected = [x, ...(y ? [y] : []), ...others].map((axis): [string, AxisSelection] => {
    const position = at[axis.axis.dimension] ?? 0;
    return [axis.axis.dimension, axis === x ? range(axis, box.c0, box.c1) : axis === y ? range(axis, box.r0, box.r1) : range(axis, position, position)];
  });
  const selection = Object.fromEntries(selected);
  const cells = (await get(array, selection, { attrs: array.attrs.map(({ name }) => name) })) as Record<string, Chunk>;
  const painted = cells[variable.attribute];
  if (!painted) return;
  const strideOf = (axis: LabelledAxis | undefined) => painted.stride[array.dims.findIndex(({ name }) => name === axis?.axis.dimension)] ?? 0;
  const stored = storedValue(value, meaning);
  for (const [column, row] of stroke.covered()) {
    const index = (column - box.c0) * strideOf(x) + (row - box.r0) * strideOf(y);
    (painted.data as { [index: number]: number | bigint })[index] = stored;
    if (painted.validity) painted.validity[index] = 1;
  }
  await put(array, selection, cells);
}

/** The value that a cell stores: packed, and of the attribute's type. */
export function storedValue(value: number, { datatype, scale, offset }: Loaded["meaning"]): number | bigint {
  const packed = (value - offset) / scale;
  if (datatype.startsWith("float")) return packed;
  if (datatype === "bool") return packed === 0 ? 0 : 1;
  const rounded = Math.round(packed);
  if (/64$|^(date)?time_/.test(datatype)) return BigInt(rounded);
  const [, sign = "", bits = "32"] = /^(u?)int(\d+)$/.exec(datatype) ?? [];
  const [lo, hi] = sign ? [0, 2 ** Number(bits) - 1] : [-(2 ** (Number(bits) - 1)), 2 ** (Number(bits) - 1) - 1];
  if (rounded < lo || rounded > hi) throw new Error(`${value} does not fit into ${datatype}, which holds ${lo * scale + offset} to ${hi * scale + offset}. Enter another value to paint.`);
  return rounded;
}
