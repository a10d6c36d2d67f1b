// Reads the cells in view at full resolution, with their place, and makes a GeoTIFF file of them.
import { get, type AxisSelection, type Chunk, type Crs, type TileArray, type TypedArray } from "hyperslab";
import type { GridQuery } from "../takeaway";
import type { LabelledAxis } from "./axes";
import { geotiff, type Raster } from "./geotiff";
import type { Loaded } from "./model";
import { isNoData } from "./values";

/** The most bytes of cells that are read for a file. */
const BYTES_MAX = 2 ** 27;

/** Reads the cells of a query of a variable, and makes the file. */
export async function rasterFile(loaded: Loaded, { ranges }: GridQuery, signal?: AbortSignal): Promise<Blob> {
  const { variable, levels, x, y } = loaded;
  const array = levels[0]?.array;
  if (!array || !y) throw new Error("A GeoTIFF file needs two axes. Save the cells as NumPy, CSV or Arrow.");
  const positions = (axis: LabelledAxis) => {
    const span = ranges[array.dims.findIndex(({ name }) => name === axis.axis.dimension)];
    const at = (end: number | bigint) => Math.floor(Number(BigInt(end) - BigInt(axis.coordinate(0))) / (axis.axis.stride ?? 1));
    return span ? [at(span.lo), at(span.hi)] as const : [0, 0] as const;
  };
  const [[c0, c1], [r0, r1]] = [positions(x), positions(y)];
  const [width, height] = [c1 - c0 + 1, r1 - r0 + 1];
  // The samples of a pixel may follow each other.
  const cells = ranges.reduce((count, { lo, hi }) => count * (Number(BigInt(hi) - BigInt(lo)) + 1), 1);
  const bytes = cells * bytesOf(array, variable.attribute);
  if (bytes > BYTES_MAX) throw new Error(`The cells in view take ${mebibytes(bytes)} MiB; a GeoTIFF file can have at most ${mebibytes(BYTES_MAX)} MiB. Zoom in, or save the cells with \`hyperslab export\`.`);
  const selection = Object.fromEntries(array.dims.map(({ name }, i): [string, AxisSelection] => [name, [ranges[i]?.lo ?? 0, ranges[i]?.hi ?? 0] as AxisSelection]));
  const chunk = await get(array, selection, { attrs: variable.attribute, ...(signal ? { signal } : {}) });
  const transform = transformOf(loaded, c0, r0);
  // Most readers expect the north at the top.
  const isUp = transform !== undefined && transform[5] > 0 && transform[2] === 0 && transform[4] === 0;
  const strideOf = (axis: LabelledAxis) => (chunk.stride[array.dims.findIndex(({ name }) => name === axis.axis.dimension)] ?? 0) * (axis.axis.stride ?? 1);
  return geotiff({
    width, height, ...valuesOf(loaded, chunk, { width, height, strideX: strideOf(x), strideY: strideOf(y), isUp }),
    transform: transform && isUp ? [transform[0], transform[1], 0, transform[3] + height * transform[5], 0, -transform[5]] : transform,
    crs: crsOf(loaded), scale: loaded.meaning.scale, offset: loaded.meaning.offset, unit: loaded.meaning.unit, description: variable.long_name ?? variable.name,
  });
}

interface Layout { width: number; height: number; strideX: number; strideY: number; isUp: boolean }

/** The bytes of a cell of an attribute. */
function bytesOf({ attrs }: TileArray, attribute: string): number {
  const { type = "", nullable = false } = attrs.find(({ name }) => name === attribute) ?? {};
  return (type === "bool" ? 1 : Number(/(8|16|32|64)$/.exec(type)?.[0] ?? 64) / 8) + Number(nullable);
}

function mebibytes(bytes: number): string {
  return Math.round(bytes / 2 ** 20).toLocaleString("en");
}

/** The cells row by row, from the top. All cells without data get the same value. */
function valuesOf({ meaning }: Loaded, { data, validity }: Chunk, { width, height, strideX, strideY, isUp }: Layout): Pick<Raster, "values" | "nodata"> {
  const stored = data as unknown as Float64Array;
  const out = new (stored.constructor as Float64ArrayConstructor)(width * height);
  const isMissing = new Uint8Array(out.length);
  for (let row = 0; row < height; row += 1) {
    const from = (isUp ? height - 1 - row : row) * strideY;
    for (let column = 0; column < width; column += 1) {
      const [at, to] = [from + column * strideX, row * width + column];
      const value = stored[at] as number;
      out[to] = value;
      if (validity?.[at] === 0 || isNoData(value, meaning)) isMissing[to] = 1;
    }
  }
  const nodata = nodataOf(meaning, out, isMissing);
  isMissing.forEach((is, to) => { if (is) out[to] = nodata as number; });
  return { values: out, nodata: nodata === undefined ? undefined : Number.isNaN(nodata) ? "nan" : String(nodata) };
}

/** The value for cells without data: one that the variable names, NaN, or an unused integer. `undefined` if none is needed. */
function nodataOf({ missing: named, fill }: Loaded["meaning"], values: TypedArray, isMissing: Uint8Array): number | bigint | undefined {
  const own = named.find((value) => value !== fill) ?? fill;
  if (own !== undefined) return own;
  if (values instanceof Float32Array || values instanceof Float64Array) return NaN;
  if (!isMissing.includes(1)) return undefined;
  const free = new Set<number | bigint>(candidatesOf(values));
  values.forEach((value: number | bigint, i: number) => { if (!isMissing[i]) free.delete(value); });
  const [found] = free;
  if (found === undefined) throw new Error("The cells in view already use every value that could mark cells without data. Zoom in, or save the cells as Arrow.");
  return found;
}

/** Integers of a type, beginning at its limits: all integers of one byte, or 256 integers of a larger type. */
function candidatesOf(values: TypedArray): (number | bigint)[] {
  const bits = 8 * values.BYTES_PER_ELEMENT;
  const isSigned = /^(Big)?Int/.test(values[Symbol.toStringTag]);
  const lo = isSigned ? -(2n ** BigInt(bits - 1)) : 0n;
  const hi = lo + 2n ** BigInt(bits) - 1n;
  const all = Array.from({ length: 128 }, (_, i) => [isSigned ? lo + BigInt(i) : hi - BigInt(i), isSigned ? hi - BigInt(i) : lo + BigInt(i)]).flat();
  return bits === 64 ? all : all.map(Number);
}

/** The geotransform of a picture that begins at a cell. `undefined` if coordinates are missing or not evenly spaced. */
function transformOf({ variable, x, y }: Loaded, column: number, row: number): Raster["transform"] {
  const g = variable.geotransform ?? alongAxes(x, y);
  if (!g) return undefined;
  return [g[0] + column * g[1] + row * g[2], g[1], g[2], g[3] + column * g[4] + row * g[5], g[4], g[5]];
}

function alongAxes(x: LabelledAxis, y: LabelledAxis | undefined): Raster["transform"] {
  const [across, down] = [evenly(x), y && evenly(y)];
  // Coordinates are at the centres of cells.
  return across && down ? [across.start - across.step / 2, across.step, 0, down.start - down.step / 2, 0, down.step] : undefined;
}

function evenly({ axis: { coordinates, guessed } }: LabelledAxis): { start: number; step: number } | undefined {
  if (guessed) return undefined;
  const line = coordinates.type === "regular" ? coordinates : coordinates.type === "array" ? coordinates.regular : undefined;
  return line && line.step !== 0 ? line : undefined;
}

/** The coordinate reference system, if it has an EPSG code. Degrees without a system are taken as WGS 84, as in CF. */
function crsOf({ variable, x, y, crs }: Loaded): Raster["crs"] {
  const own = crs[variable.crs ?? -1];
  const epsg = Number(/^EPSG:(\d+)$/i.exec(own?.code ?? own?.wkt ?? "")?.[1] ?? NaN);
  const areDegrees = /^degrees?(_|$)/.test(x.axis.unit ?? "") && /^degrees?(_|$)/.test(y?.axis.unit ?? "");
  if (epsg >= 1024 && epsg <= 32_766) return { epsg, isGeographic: own ? isGeographic(own, areDegrees) : areDegrees };
  return !own && areDegrees ? { epsg: 4326, isGeographic: true } : undefined;
}

function isGeographic({ wkt, projjson }: Crs, areDegrees: boolean): boolean {
  // Some data has a code in place of the WKT.
  if (wkt && !/^EPSG:/i.test(wkt)) return /^\s*GEO(G|D)/i.test(wkt);
  const type = (projjson as { type?: unknown } | undefined)?.type;
  return typeof type === "string" ? /^Geo/.test(type) : areDegrees;
}
