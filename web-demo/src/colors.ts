// The colour maps that can be chosen.
import { colormap, colormapNames, type Colormap } from "hyperslab/deck";

/** Dark for false and bright for true. */
const LAND_AND_SEA = Uint8Array.of(0x16, 0x23, 0x2f, 255, 0xd9, 0xd2, 0xb4, 255);

/** The colour maps by name. */
export const COLORMAPS: Readonly<Record<string, Colormap>> = Object.freeze(Object.assign(Object.create(null) as Record<string, Colormap>, {
  ...Object.fromEntries(colormapNames.map((name) => [name, colormap(name)])),
  "land and sea": LAND_AND_SEA,
}));

/** Whether a text, such as a part of a link, names a colour map. */
export function isColormap(name: string | undefined): name is string {
  return name !== undefined && Object.hasOwn(COLORMAPS, name);
}

/** The colours of a name; viridis if there is none. */
export function colorsOf(name: string): Colormap {
  return COLORMAPS[name] ?? colormap("viridis");
}
