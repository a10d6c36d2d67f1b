// The drawn plane of an array and of its coarser levels.
import type { TileArray } from "../array.js";
import type { PyramidLevel } from "../describe.js";
import { HyperslabError } from "../errors.js";
import type { AxisSelection, Selection } from "../select.js";
import { distance, shifted, type Coordinate } from "./coordinates.js";
import { intersection, type Rect } from "./place.js";

/** A drawn axis of one level. */
export interface LevelAxis {
  /** Its index in the array. */
  readonly index: number;
  readonly name: string;
  /** The coordinate in the array of the first cell. */
  readonly first: Coordinate;
  /** The number of cells. */
  readonly length: number;
  /** Cells of the finest level in one cell. */
  readonly factor: number;
  /** The position of the first cell's outer edge, in cells of the finest level. */
  readonly start: number;
  /** Cells in a tile of the grid, and how many come before the first one's start. */
  readonly side: number;
  readonly shift: number;
  /** Coordinates from one cell to the next. */
  readonly stride: number;
}

/** A level that can be drawn. */
export interface Level {
  readonly array: TileArray;
  /** Its index in the `levels` that were given. */
  readonly index: number;
  readonly x: LevelAxis;
  /** Missing for arrays with one dimension. */
  readonly y: LevelAxis | undefined;
}

/** The part of a level's cells that is one texture: from the first cell up to the one after the last. */
export interface Tile {
  readonly level: Level;
  readonly columns: readonly [number, number];
  readonly rows: readonly [number, number];
  /** Its cells inside the array, in cells of the finest level. */
  readonly rect: Rect;
  /** Its cells, also those outside the array. */
  readonly outer: Rect;
}

/** How the axes of the finest level are named and numbered. */
export interface AxesInput {
  readonly x: string | undefined;
  readonly y: string | undefined;
  readonly first: Readonly<Record<string, Coordinate>> | undefined;
  readonly stride: Readonly<Record<string, number>> | undefined;
}

const SIDE_MIN = 128;
const SIDE_MAX = 1024;
/** How many pixels a cell may span before a finer level is drawn. */
const LARGER = Math.SQRT2;

/** The levels of an array whose planes can be drawn, finest first, and the size of the finest. */
export class Pyramid {
  readonly levels: readonly Level[];
  readonly extent: Rect;
  /** The names of the drawn axes: x, and y if there is one. */
  readonly drawn: readonly string[];

  constructor(given: readonly PyramidLevel[] | TileArray, private readonly axes: AxesInput, private readonly sideMax = SIDE_MAX) {
    const levels = Array.isArray(given) ? (given as readonly PyramidLevel[]) : [alone(given as TileArray, axes.stride)];
    const [finest] = levels;
    if (!finest) throw new HyperslabError("InvalidArgument", "`levels` is empty; give an array, or the result of levels()");
    if (finest.array.kind !== "dense") throw new HyperslabError("InvalidArgument", "the array is sparse; use QueryLayer");
    const names = finest.array.dims.map(({ name }) => name);
    const x = named(names, axes.x ?? names.at(-1), "x");
    const y = axes.y ?? names.filter((name) => name !== x).at(-1);
    this.drawn = y === undefined ? [x] : [x, named(names, y, "y")];
    if (x === y) throw new HyperslabError("InvalidArgument", `x and y are both '${x}'; name two axes of ${names.join(", ")}`);
    // A level that also merges positions of other axes, such as times, would show other data.
    const shows = ({ factors, array }: PyramidLevel) => array.kind === "dense" && array.dims.length === names.length
      && factors.every((factor, i) => (this.drawn.includes(names[i] ?? "") ? factor > 0 : factor === 1));
    this.levels = levels.flatMap((level, index) => (shows(level) ? [this.level(finest, level, index)] : []));
    const [first] = this.levels;
    if (!first) throw new HyperslabError("InvalidArgument", "the first of `levels` does not have factors of 1; give the result of levels()");
    this.extent = { x0: 0, y0: 0, x1: first.x.length, y1: first.y?.length ?? 1 };
  }

  private level(finest: PyramidLevel, level: PyramidLevel, index: number): Level {
    const [x, y] = this.drawn.map((name) => this.axis(finest, level, finest.array.dims.findIndex((dim) => dim.name === name)));
    return { array: level.array, index, x: x as LevelAxis, y };
  }

  private axis(finest: PyramidLevel, level: PyramidLevel, index: number): LevelAxis {
    const [own, base] = [level.array.dims[index], finest.array.dims[index]];
    const name = base?.name ?? "";
    const factor = level.factors[index] ?? 1;
    const stride = this.axes.stride?.[name] ?? 1;
    const origin = this.axes.first?.[name] ?? base?.domain?.[0] ?? 0;
    const low: Coordinate = own?.domain?.[0] ?? 0;
    const first = level === finest ? origin : low;
    const tile = own?.tile === undefined ? undefined : Math.floor(own.tile / stride);
    return {
      index, name, first, factor, stride, length: level.shape[index] ?? 0,
      start: level.start[index] ?? 0,
      ...sides(tile, distance(low, first) / stride, this.sideMax),
    };
  }

  /**
   * The levels from the coarsest whose cells are about as large as a pixel. The arguments are cells of the finest level per
   * pixel.
   */
  from(columns: number, rows: number): readonly Level[] {
    const fits = ({ x, y }: Level) => x.factor <= columns * LARGER && (y?.factor ?? 0) <= rows * LARGER;
    return this.levels.slice(Math.max(0, this.levels.findLastIndex(fits)));
  }

  /** The tiles of a level that meet a rectangle. `undefined` if there are more than `most`. */
  tiles(level: Level, seen: Rect, most: number): Tile[] | undefined {
    const part = intersection(seen, this.extent);
    if (!part) return [];
    const columns = intervals(level.x, part.x0, part.x1);
    const rows = level.y ? intervals(level.y, part.y0, part.y1) : { first: 0, last: 0 };
    if ((columns.last - columns.first + 1) * (rows.last - rows.first + 1) > most) return undefined;
    const found: Tile[] = [];
    for (let row = rows.first; row <= rows.last; row += 1) {
      for (let column = columns.first; column <= columns.last; column += 1) {
        const tile = this.tile(level, column, row);
        if (tile) found.push(tile);
      }
    }
    return found;
  }

  private tile(level: Level, column: number, row: number): Tile | undefined {
    const [columns, rows] = [cells(level.x, column), level.y ? cells(level.y, row) : ([0, 1] as const)];
    const [x0, x1] = columns.map((cell) => edge(level.x, cell)) as [number, number];
    const [y0, y1] = (level.y ? rows.map((cell) => edge(level.y as LevelAxis, cell)) : [0, 1]) as [number, number];
    const outer = { x0, y0, x1, y1 };
    const rect = intersection(outer, this.extent);
    return rect && { level, columns, rows, rect, outer };
  }

  /** The selection of a tile's cells. `at` has the coordinates of the other axes in the finest level. */
  selection({ level, columns, rows }: Tile, at: Readonly<Record<string, Coordinate>>, ranges: Readonly<Record<string, readonly [Coordinate, Coordinate]>>): Selection {
    const [finest] = this.levels;
    const fixed = this.fixed(at);
    const of = (axis: LevelAxis, [from, to]: readonly [number, number]): AxisSelection => [shifted(axis.first, from * axis.stride), shifted(axis.first, to * axis.stride - 1)];
    return Object.fromEntries(level.array.dims.map((dim, i): [string, AxisSelection] => {
      if (i === level.x.index) return [dim.name, of(level.x, columns)];
      if (i === level.y?.index) return [dim.name, of(level.y, rows)];
      const base = finest?.array.dims[i];
      const low = base?.domain?.[0] ?? 0;
      const own = (coordinate: Coordinate) => shifted(dim.domain?.[0] ?? 0, distance(low, coordinate));
      const [name, range] = [base?.name ?? "", ranges[base?.name ?? ""]];
      return [dim.name, range ? [own(range[0]), own(range[1])] : own(fixed[name] ?? low)];
    }));
  }

  /** The coordinates of the axes that are not drawn. */
  fixed(at: Readonly<Record<string, Coordinate>>): Record<string, Coordinate> {
    const [finest] = this.levels;
    const others = finest?.array.dims.filter(({ name }) => !this.drawn.includes(name)) ?? [];
    return Object.fromEntries(others.map(({ name, domain }) => [name, at[name] ?? this.axes.first?.[name] ?? domain?.[0] ?? 0]));
  }

  /** The coordinates in the finest array of a position. */
  coordinates(column: number, row: number): Record<string, Coordinate> {
    const [finest] = this.levels as readonly [Level];
    const of = (axis: LevelAxis, position: number) => [axis.name, shifted(axis.first, position * axis.stride)] as const;
    return Object.fromEntries([of(finest.x, column), ...(finest.y ? [of(finest.y, row)] : [])]);
  }
}

/** An array without coarser levels. */
function alone(array: TileArray, strides: AxesInput["stride"]): PyramidLevel {
  if (!Array.isArray(array?.dims)) throw new HyperslabError("InvalidArgument", "`levels` must be an open array, or the result of levels()");
  return { array, shape: array.shape.map((cells, i) => Math.floor(cells / (strides?.[array.dims[i]?.name ?? ""] ?? 1))), factors: array.dims.map(() => 1), start: array.dims.map(() => 0), scale: array.dims.map(() => null) };
}

function named(names: readonly string[], name: string | undefined, prop: string): string {
  if (name !== undefined && names.includes(name)) return name;
  throw new HyperslabError("InvalidArgument", `the array has no dimension '${name}', which the prop '${prop}' names; it has ${names.join(", ")}`);
}

/** The side of the grid's tiles, so that they hold whole tiles of the array if these are of a suitable size. `lead` cells come before the first drawn one. */
function sides(tile: number | undefined, lead: number, most: number): { side: number; shift: number } {
  if (tile === undefined || tile < 1 || tile > most) return { side: Math.min(most, 512), shift: 0 };
  const side = tile >= SIDE_MIN ? tile : tile * Math.ceil(256 / tile);
  return side > most ? { side: 256, shift: 0 } : { side, shift: Math.floor(lead) % side };
}

/** The edge of a cell of a level, in cells of the finest level. */
function edge({ start, factor }: LevelAxis, cell: number): number {
  return start + cell * factor;
}

/** The first and the last tile between two positions. */
function intervals(axis: LevelAxis, low: number, high: number): { first: number; last: number } {
  const { side, shift, length, start, factor } = axis;
  const most = Math.floor((Math.max(length, 1) - 1 + shift) / side);
  const tile = (cell: number) => Math.min(most, Math.max(0, Math.floor((cell + shift) / side)));
  return { first: tile(Math.floor((low - start) / factor)), last: tile(Math.ceil((high - start) / factor) - 1) };
}

/** The cells of a tile along an axis. */
function cells({ side, shift, length }: LevelAxis, tile: number): readonly [number, number] {
  return [Math.max(0, tile * side - shift), Math.min(length, (tile + 1) * side - shift)];
}
