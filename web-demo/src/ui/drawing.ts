// The canvas of the picture, for those who copy it. A browser keeps the pixels of WebGL only until it has shown them.

let draw: (() => HTMLCanvasElement | undefined) | undefined;

/** Registers what draws the picture anew, or that there is none. */
export function setDrawing(drawing: typeof draw): void {
  draw = drawing;
}

/** The canvas, drawn a moment ago. `undefined` if the page has no picture. */
export function drawnCanvas(): HTMLCanvasElement | undefined {
  return draw?.();
}
