// The values of tiles as textures.
import type { Device, Texture } from "@luma.gl/core";
import { isEmpty, isMissing, NONE, storedAt, type Missing } from "./missing.js";
import type { Cells } from "./planes.js";

/** The value for "no data" in a texture of floats. Shaders cannot rely on NaN. */
export const NO_DATA = -3.4028234663852886e38;
const LARGEST = 3.4028234663852886e38;
const SMALLEST = -3.4028232635611926e38;

/** The values of one or several planes, below each other, rounded to 32 bits. Values of 8 bits without gaps stay bytes. */
export interface Texels {
  readonly format: "r32float" | "r8unorm";
  readonly data: Float32Array | Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** The texels of a tile. */
export function texelsOf(planes: readonly Cells[], columns: number, rows: number, missing: readonly Missing[]): Texels {
  const [width, height] = [columns, rows * planes.length];
  const areBytes = planes.every(({ data, validity }, i) => data instanceof Uint8Array && !validity && isEmpty(missing[i] ?? NONE));
  if (areBytes) {
    const bytes = new Uint8Array(width * height);
    each(planes, columns, rows, (cells, at, index) => { bytes[at] = cells.data[index] as number; });
    return { format: "r8unorm", data: bytes, width, height };
  }
  const floats = new Float32Array(width * height);
  planes.forEach((cells, plane) => fill(floats, plane * columns * rows, cells, columns, rows, missing[plane] ?? NONE));
  return { format: "r32float", data: floats, width, height };
}

/** Writes one plane. */
function fill(floats: Float32Array, from: number, cells: Cells, columns: number, rows: number, missing: Missing): void {
  const { data, validity, start, strideX, strideY } = cells;
  const isPlain = !validity && isEmpty(missing);
  let at = from;
  for (let row = 0; row < rows; row += 1) {
    let index = start + row * strideY;
    for (let column = 0; column < columns; column += 1, at += 1, index += strideX) {
      const value = isPlain ? (data[index] as number | bigint) : storedAt(cells, column, row);
      floats[at] = value === null || value !== value || (!isPlain && isMissing(value, missing)) ? NO_DATA : Math.min(LARGEST, Math.max(SMALLEST, Number(value)));
    }
  }
}

function each(planes: readonly Cells[], columns: number, rows: number, visit: (cells: Cells, at: number, index: number) => void): void {
  let at = 0;
  for (const cells of planes) {
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1, at += 1) visit(cells, at, cells.start + row * cells.strideY + column * cells.strideX);
    }
  }
}

const NEAREST = { minFilter: "nearest", magFilter: "nearest", addressModeU: "clamp-to-edge", addressModeV: "clamp-to-edge" } as const;

/** A texture without smoothing, whose texels a shader fetches one by one. */
export function textureOf(device: Device, { format, data, width, height }: Texels): Texture {
  return device.createTexture({ format, data, width, height, mipLevels: 1, sampler: NEAREST });
}

/** The colours of planes, one row for each, stretched to the longest. */
export function colorsTexture(device: Device, maps: readonly Uint8Array[]): Texture {
  const width = Math.max(...maps.map((map) => map.length / 4));
  const data = new Uint8Array(width * maps.length * 4);
  maps.forEach((map, row) => {
    const count = map.length / 4;
    for (let i = 0; i < width; i += 1) {
      const from = Math.floor((i * count) / width) * 4;
      data.set(map.subarray(from, from + 4), (row * width + i) * 4);
    }
  });
  return device.createTexture({ format: "rgba8unorm", data, width, height: maps.length, mipLevels: 1, sampler: NEAREST });
}
