// The colours of a picture with the values at their ends.
import { useEffect, useRef } from "preact/hooks";

interface Props {
  /** Red, green, blue and alpha of each colour, from the lowest value to the highest. */
  colormap: Uint8Array;
  range: readonly [number, number];
  /** The number of distinct values, if each has a step of its own; otherwise 0. */
  steps: number;
  /** The text of a value. */
  shown(value: number): string;
  title: string;
}

const WIDTH = 160;

export function Legend({ colormap, range: [lo, hi], steps, shown, title }: Props) {
  const bar = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const image = new ImageData(WIDTH, 1);
    const count = colormap.length / 4;
    for (let i = 0; i < WIDTH; i++) {
      const t = steps > 1 ? Math.floor((i / WIDTH) * steps) / (steps - 1) : i / (WIDTH - 1);
      const at = Math.min(count - 1, Math.floor(t * count)) * 4;
      image.data.set(colormap.subarray(at, at + 4), i * 4);
    }
    bar.current?.getContext("2d")?.putImageData(image, 0, 0);
  }, [colormap, steps]);
  return (
    <figure id="legend" hidden={!(lo <= hi)}>
      <figcaption>{title}</figcaption>
      <span id="legend-lo">{shown(lo)}</span><canvas ref={bar} width={WIDTH} height={1} aria-hidden="true" /><span id="legend-hi">{shown(hi)}</span>
    </figure>
  );
}
