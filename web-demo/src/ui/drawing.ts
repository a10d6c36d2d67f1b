// Gives access to the pixels of the picture. A browser keeps the pixels of WebGL only until it has shown them.

let draw: (() => HTMLCanvasElement | undefined) | undefined;

/** Registers the function that redraws the picture. `undefined` if there is no picture. */
export function setDrawing(drawing: typeof draw): void {
  draw = drawing;
}

/** Redraws the picture and returns its canvas. `undefined` if the page has no picture. */
export function drawnCanvas(): HTMLCanvasElement | undefined {
  return draw?.();
}
