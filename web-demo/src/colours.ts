// Colour maps: from a value between 0 and 1 to a packed pixel (little-endian ABGR, the format of ImageData).

const STOPS = new Map(Object.entries({
  viridis: ["440154", "482878", "3e4989", "31688e", "26828e", "1f9e89", "35b779", "6ece58", "b5de2b", "fde725"],
  magma: ["000004", "180f3d", "440f76", "721f81", "9e2f7f", "cd4071", "f1605d", "fd9668", "feca8d", "fcfdbf"],
  terrain: ["2b5d4b", "4f8a4f", "93b06a", "d3c58a", "c19a66", "9a6f50", "8d7b73", "c7c3c0", "ffffff"],
  "land and sea": ["16232f", "d9d2b4"],
  grey: ["000000", "ffffff"],
}));
const STEPS = 1024;
const ramps = new Map<string, Uint32Array>();

export const MAPS = [...STOPS.keys()];

/** 1024 pixels from the lowest to the highest value. */
export function ramp(name: string): Uint32Array {
  const known = ramps.get(name);
  if (known) return known;
  const stops = (STOPS.get(name) ?? STOPS.get("viridis") ?? []).map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const out = new Uint32Array(STEPS);
  for (let s = 0; s < STEPS; s++) {
    const p = (s / (STEPS - 1)) * (stops.length - 1);
    const i = Math.min(Math.floor(p), stops.length - 2);
    const [r, g, b] = [0, 1, 2].map((c) => {
      const a = stops[i]?.[c] ?? 0;
      return Math.round(a + ((stops[i + 1]?.[c] ?? a) - a) * (p - i));
    });
    out[s] = (0xff000000 | ((b ?? 0) << 16) | ((g ?? 0) << 8) | (r ?? 0)) >>> 0;
  }
  ramps.set(name, out);
  return out;
}

/** The pixel of `value` between `lo` and `hi`; transparent if it is NaN. */
export function pixel(map: Uint32Array, value: number, lo: number, hi: number): number {
  if (Number.isNaN(value)) return 0;
  const t = hi > lo ? (value - lo) / (hi - lo) : 0.5;
  return map[Math.max(0, Math.min(STEPS - 1, Math.round(t * (STEPS - 1))))] ?? 0;
}

export function css(map: Uint32Array, value: number, lo: number, hi: number): string {
  const p = pixel(map, value, lo, hi);
  return p === 0 ? "transparent" : `rgb(${p & 255} ${(p >> 8) & 255} ${(p >> 16) & 255})`;
}
