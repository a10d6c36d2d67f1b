// Draws differences: blue for less, red for more, and other colours for cells that have appeared or disappeared.
import { BitmapLayer } from "@deck.gl/layers";
import { colormap, type Colormap } from "hyperslab/deck";
import { APPEARED, CHANGED, SAME, type Differences } from "./cells";

type Colour = readonly [number, number, number];

export const APPEARED_COLOUR: Colour = [0x1b, 0x9e, 0x77];
export const VANISHED_COLOUR: Colour = [0xff, 0xb0, 0x00];
/** The colour of labels that have changed. */
export const LABEL_COLOUR: Colour = [0xb2, 0x18, 0x2b];

/** The part of the diverging colours at each side of 0 that is left out, so that a small change is not white. */
const PALE = 0.4;

/** From blue, for the largest decrease, to red. Zero is between the middle two: cells without a change are not drawn. */
export const CHANGES: Colormap = changes();

function changes(): Colormap {
  const [from, to] = [colormap("RdBu"), new Uint8Array(256 * 4)];
  for (let i = 0; i < 128; i += 1) {
    const at = Math.round((i / 127) * (1 - PALE) * 127);
    to.set(from.subarray((255 - at) * 4, (256 - at) * 4), i * 4);
    to.set(from.subarray(at * 4, (at + 1) * 4), (255 - i) * 4);
  }
  return to;
}

/** A picture of each box. `most`: the change that has the last colour. `aspect`: the height of a row in columns. */
export function layersOf(all: readonly Differences[], most: number, aspect: number): BitmapLayer[] {
  return all.map((differences) => {
    const { c0, c1, r0, r1 } = differences.box;
    return new BitmapLayer({
      id: `changes ${c0} ${r0}`,
      image: pictureOf(differences, most),
      bounds: [c0, (r1 + 1) * aspect, c1 + 1, r0 * aspect],
      textureParameters: { minFilter: "nearest", magFilter: "nearest", mipmapFilter: "nearest" },
    });
  });
}

function pictureOf({ box, kinds, changes }: Differences, most: number): ImageData {
  const image = new ImageData(box.c1 - box.c0 + 1, box.r1 - box.r0 + 1);
  kinds.forEach((kind, i) => {
    if (kind !== SAME) image.data.set([...colourOf(kind, changes[i] ?? 0, most), 255], i * 4);
  });
  return image;
}

function colourOf(kind: number, change: number, most: number): Iterable<number> {
  if (kind !== CHANGED) return kind === APPEARED ? APPEARED_COLOUR : VANISHED_COLOUR;
  if (change === 0) return LABEL_COLOUR;
  const size = Math.min(127, Math.floor((Math.abs(change) / (most || 1)) * 127));
  const at = (change < 0 ? 127 - size : 128 + size) * 4;
  return CHANGES.subarray(at, at + 3);
}
