// Writes GeoTIFF files of one band. The writer of geotiff.js (3.0.5) does not fit: it writes signed integers as zeros, has
// no room for long metadata, and claims WGS 84 for data without a coordinate reference system.
// The tags are from TIFF 6.0 and OGC GeoTIFF 1.1; 42112 and 42113 are from GDAL.
import type { TypedArray } from "hyperslab";

/** The band of a file, and its metadata. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  /** Row by row, from the top. */
  readonly values: TypedArray;
  /** x = g[0] + column·g[1] + row·g[2], y = g[3] + column·g[4] + row·g[5]. `undefined` if the place is unknown. */
  readonly transform: readonly [number, number, number, number, number, number] | undefined;
  /** The EPSG code of the coordinate reference system, and whether its coordinates are degrees. */
  readonly crs: { readonly epsg: number; readonly isGeographic: boolean } | undefined;
  readonly nodata: string | undefined;
  readonly scale: number;
  readonly offset: number;
  readonly unit: string;
  readonly description: string;
}

const [ASCII, SHORT, LONG, DOUBLE] = [2, 3, 4, 12] as const;
const BYTES: Readonly<Record<number, number>> = { [ASCII]: 1, [SHORT]: 2, [LONG]: 4, [DOUBLE]: 8 };

type Tag = readonly [tag: number, type: number, values: readonly number[]];

/** The approximate size of a strip before compression. */
const STRIP_BYTES = 2 ** 20;
const HEADER_BYTES = 8;

/** The file: little-endian, in compressed strips of rows. */
export async function geotiff(raster: Raster): Promise<Blob> {
  const { width, height, values } = raster;
  const rows = Math.max(1, Math.min(height, Math.floor(STRIP_BYTES / (width * values.BYTES_PER_ELEMENT))));
  const strips: Uint8Array<ArrayBuffer>[] = [];
  for (let row = 0; row < height; row += rows) strips.push(await deflated(values.subarray(row * width, Math.min(height, row + rows) * width)));
  const padded = strips.map((strip) => strip.length + (strip.length % 2));
  const starts = padded.map((_, i) => HEADER_BYTES + padded.slice(0, i).reduce((sum, length) => sum + length, 0));
  const end = HEADER_BYTES + padded.reduce((sum, length) => sum + length, 0);
  const header = new DataView(new ArrayBuffer(HEADER_BYTES));
  header.setUint16(0, 0x4949);
  header.setUint16(2, 42, true);
  header.setUint32(4, end, true);
  const even = strips.flatMap((strip) => (strip.length % 2 ? [strip, new Uint8Array(1)] : [strip]));
  return new Blob([header, ...even, directory(tagsOf(raster, rows, starts, strips.map(({ length }) => length)), end)], { type: "image/tiff" });
}

/** Compresses values, which are little-endian on all machines that run browsers. */
async function deflated({ buffer, byteOffset, byteLength }: TypedArray): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength)]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function tagsOf(raster: Raster, rows: number, starts: readonly number[], lengths: readonly number[]): Tag[] {
  const { width, height, values, transform, nodata } = raster;
  const metadata = metadataOf(raster);
  const tags: (Tag | undefined)[] = [
    [256, LONG, [width]], [257, LONG, [height]], [258, SHORT, [8 * values.BYTES_PER_ELEMENT]], [259, SHORT, [8]], [262, SHORT, [1]],
    [273, LONG, starts], [277, SHORT, [1]], [278, LONG, [rows]], [279, LONG, lengths], [284, SHORT, [1]], [339, SHORT, [formatOf(values)]],
    ...(transform ? placeTags(transform) : []),
    transform ? [34735, SHORT, geoKeys(raster.crs)] : undefined,
    metadata ? [42112, ASCII, asciiOf(metadata)] : undefined,
    nodata === undefined ? undefined : [42113, ASCII, asciiOf(nodata)],
  ];
  return tags.filter((tag) => tag !== undefined);
}

/** The sample format: 1 for unsigned integers, 2 for signed integers, 3 for floating-point numbers. */
function formatOf(values: TypedArray): number {
  if (values instanceof Float32Array || values instanceof Float64Array) return 3;
  return values instanceof Int8Array || values instanceof Int16Array || values instanceof Int32Array || values instanceof BigInt64Array ? 2 : 1;
}

/** The place of the first corner and the size of a cell, or a matrix if the picture is rotated or rows go upwards. */
function placeTags([x, dx, rx, y, ry, dy]: NonNullable<Raster["transform"]>): Tag[] {
  if (rx === 0 && ry === 0 && dx > 0 && dy < 0) return [[33550, DOUBLE, [dx, -dy, 0]], [33922, DOUBLE, [0, 0, 0, x, y, 0]]];
  return [[34264, DOUBLE, [dx, rx, 0, x, ry, dy, 0, y, 0, 0, 0, 0, 0, 0, 0, 1]]];
}

/** Keys in ascending order: the kind of coordinates, that cells are areas, and the EPSG code. */
function geoKeys(crs: Raster["crs"]): number[] {
  const keys: [number, number][] = crs ? [[1024, crs.isGeographic ? 2 : 1], [1025, 1], [crs.isGeographic ? 2048 : 3072, crs.epsg]] : [[1025, 1]];
  return [1, 1, 0, keys.length, ...keys.flatMap(([key, value]) => [key, 0, 1, value])];
}

/** The scale, offset, unit and description of the band, in the XML of GDAL. */
function metadataOf({ scale, offset, unit, description }: Raster): string | undefined {
  const item = (name: string, value: string | number) => `<Item name="${name.toUpperCase()}" sample="0" role="${name}">${String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</Item>`;
  const items = [scale !== 1 || offset !== 0 ? item("scale", scale) + item("offset", offset) : "", unit ? item("unittype", unit) : "", description ? item("description", description) : ""].join("");
  return items ? `<GDALMetadata>${items}</GDALMetadata>` : undefined;
}

function asciiOf(text: string): number[] {
  return [...new TextEncoder().encode(text), 0];
}

/** The directory of tags, followed by the values that do not fit into it. */
function directory(tags: readonly Tag[], start: number): ArrayBuffer {
  const sizes = tags.map(([, type, values]) => (BYTES[type] ?? 1) * values.length);
  const inside = 2 + 12 * tags.length + 4;
  const view = new DataView(new ArrayBuffer(sizes.reduce((sum, size) => sum + (size > 4 ? size + (size % 2) : 0), inside)));
  view.setUint16(0, tags.length, true);
  let free = inside;
  tags.forEach(([tag, type, values], i) => {
    const [at, size] = [2 + 12 * i, sizes[i] ?? 0];
    view.setUint16(at, tag, true);
    view.setUint16(at + 2, type, true);
    view.setUint32(at + 4, values.length, true);
    if (size > 4) view.setUint32(at + 8, start + free, true);
    const from = size > 4 ? free : at + 8;
    values.forEach((value, j) => put(view, from + j * (BYTES[type] ?? 1), type, value));
    if (size > 4) free += size + (size % 2);
  });
  return view.buffer;
}

function put(view: DataView, at: number, type: number, value: number): void {
  if (type === ASCII) view.setUint8(at, value);
  else if (type === SHORT) view.setUint16(at, value, true);
  else if (type === LONG) view.setUint32(at, value, true);
  else view.setFloat64(at, value, true);
}
