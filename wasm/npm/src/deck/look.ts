// Looks up values in tiles that have come.
import type { PickedCell } from "./array-props.js";
import type { Coordinate } from "./coordinates.js";
import { isMissing, NONE, storedAt, type Missing } from "./missing.js";
import { intersection, type Rect } from "./place.js";
import type { Cells } from "./planes.js";
import type { Pyramid, Tile } from "./pyramid.js";
import type { Decode } from "./shading.js";
import type { Held } from "./tiles.js";

const SAMPLE_MAX = 65_536;
/** Cells whose edge only touches the view are not in it. */
const EDGE = 1e-6;

/** The column and row, in a tile, of a position in cells of the finest level. */
function cellOf({ columns, rows, outer }: Tile, column: number, row: number): [number, number] {
  const index = (position: number, low: number, high: number, count: number) => Math.min(count - 1, Math.max(0, Math.floor(((position - low) / (high - low)) * count)));
  return [index(column, outer.x0, outer.x1, columns[1] - columns[0]), index(row, outer.y0, outer.y1, rows[1] - rows[0])];
}

/** The cell at a position, from the finest of the tiles that have come. `undefined` outside the array. */
export function cellAt(pyramid: Pyramid, [column, row]: readonly [number, number], loaded: readonly Held[], missing: readonly Missing[], decode: Decode | undefined, at: Readonly<Record<string, Coordinate>>): PickedCell | undefined {
  const { extent: { x1, y1 } } = pyramid;
  if (!(column >= 0 && row >= 0 && column < x1 && row < y1)) return undefined;
  const position: [number, number] = [Math.floor(column), Math.floor(row)];
  const holds = ({ tile: { rect } }: Held) => column >= rect.x0 && column < rect.x1 && row >= rect.y0 && row < rect.y1;
  const area = ({ tile: { level } }: Held) => level.x.factor * (level.y?.factor ?? 1);
  const finest = loaded.filter(holds).sort((a, b) => area(a) - area(b))[0];
  const factors: [number, number] = finest ? [finest.tile.level.x.factor, finest.tile.level.y?.factor ?? 1] : [1, 1];
  const stored = finest?.planes?.map((cells) => storedAt(cells, ...cellOf(finest.tile, position[0] + 0.5, position[1] + 0.5))) ?? [];
  const values = stored.map((value, plane) => (isMissing(value, missing[plane] ?? NONE) ? null : value));
  const value = values[0];
  const decoded = value === null || value === undefined ? value : Number(value) * (decode?.scale ?? 1) + (decode?.offset ?? 0);
  return { coordinates: { ...pyramid.fixed(at), ...pyramid.coordinates(...position) }, position, value, stored: stored[0], decoded, values, level: finest?.tile.level.index ?? 0, factors, factor: Math.max(...factors) };
}

/** The extents of the cells of tiles, with the values that were left out. */
const extents = new WeakMap<Cells, { missing: Missing; extent: readonly [number, number] | undefined }>();

/** The smallest and the largest value of all cells of tiles, one for each plane. */
export function extentsOf(shown: readonly Held[], missing: readonly Missing[], decode: Decode | undefined): (readonly [number, number] | undefined)[] {
  const { scale = 1, offset = 0 } = decode ?? {};
  return Array.from({ length: shown[0]?.planes?.length ?? 0 }, (_, plane) => {
    const ends = shown.flatMap(({ tile, planes }) => {
      const cells = planes?.[plane];
      return cells ? extentOf(cells, tile, missing[plane] ?? NONE) ?? [] : [];
    });
    const unpacked = [Math.min(...ends), Math.max(...ends)].map((end) => end * scale + offset);
    return ends.length === 0 ? undefined : [Math.min(...unpacked), Math.max(...unpacked)] as const;
  });
}

function extentOf(cells: Cells, { columns, rows }: Tile, missing: Missing): readonly [number, number] | undefined {
  const known = extents.get(cells);
  if (known?.missing === missing) return known.extent;
  let [low, high] = [Infinity, -Infinity];
  for (let row = 0; row < rows[1] - rows[0]; row += 1) {
    for (let column = 0; column < columns[1] - columns[0]; column += 1) {
      const value = storedAt(cells, column, row);
      if (value === null || isMissing(value, missing)) continue;
      const number = Number(value);
      if (number < low && number !== -Infinity) low = number;
      if (number > high && number !== Infinity) high = number;
    }
  }
  const extent = low <= high ? [low, high] as const : undefined;
  extents.set(cells, { missing, extent });
  return extent;
}

/** Values of tiles in the visible parts, evenly spread, one list for each plane. */
export function sampleOf(shown: readonly Held[], seen: readonly Rect[], missing: readonly Missing[], decode: Decode | undefined): Float64Array[] {
  const { scale = 1, offset = 0 } = decode ?? {};
  const boxes = shown.flatMap((held) => seen.flatMap((part) => {
    const rect = intersection(held.tile.rect, part);
    if (!rect) return [];
    const [c0, r0] = cellOf(held.tile, rect.x0, rect.y0);
    const [c1, r1] = cellOf(held.tile, rect.x1 - EDGE, rect.y1 - EDGE);
    return [{ held, c0, r0, c1, r1 }];
  }));
  const total = boxes.reduce((sum, { c0, r0, c1, r1 }) => sum + (c1 - c0 + 1) * (r1 - r0 + 1), 0);
  const step = Math.max(1, Math.ceil(Math.sqrt(total / SAMPLE_MAX)));
  const planes = shown[0]?.planes?.length ?? 0;
  return Array.from({ length: planes }, (_, plane) => {
    const found: number[] = [];
    for (const { held, c0, r0, c1, r1 } of boxes) {
      const cells = held.planes?.[plane];
      for (let row = r0; cells && row <= r1; row += step) {
        for (let column = c0; column <= c1; column += step) {
          const value = storedAt(cells, column, row);
          if (value !== null && !isMissing(value, missing[plane] ?? NONE)) found.push(Number(value) * scale + offset);
        }
      }
    }
    return Float64Array.from(found.slice(0, SAMPLE_MAX));
  });
}
