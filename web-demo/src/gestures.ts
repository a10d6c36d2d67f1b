// Moves the view by mouse, touch and keyboard.
import type { Viewport } from "./viewport.js";

const STEP_PX = 80;

export function attachGestures(canvas: HTMLCanvasElement, view: Viewport, moved: () => void,
                               hover: (x?: number, y?: number) => void): void {
  const held = new Map<number, { x: number; y: number }>();
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    held.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    canvas.classList.add("dragging");
    canvas.focus({ preventScroll: true });
  });
  canvas.addEventListener("pointermove", (e) => {
    const from = held.get(e.pointerId);
    const to = { x: e.offsetX, y: e.offsetY };
    if (from) {
      const other = [...held].find(([id]) => id !== e.pointerId)?.[1];
      if (other) {
        const spread = (p: { x: number; y: number }) => Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
        view.zoom(spread(to) / spread(from), (to.x + other.x) / 2, (to.y + other.y) / 2);
      } else {
        view.pan(to.x - from.x, to.y - from.y);
      }
      held.set(e.pointerId, to);
      moved();
    }
    hover(to.x, to.y);
  });
  for (const end of ["pointerup", "pointercancel"] as const) {
    canvas.addEventListener(end, (e) => { held.delete(e.pointerId); canvas.classList.remove("dragging"); });
  }
  canvas.addEventListener("pointerleave", () => hover());
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    view.zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), e.offsetX, e.offsetY);
    moved();
  }, { passive: false });
  canvas.addEventListener("dblclick", (e) => { view.zoom(2, e.offsetX, e.offsetY); moved(); });
  canvas.addEventListener("keydown", (e) => {
    const pans: Record<string, [number, number]> = {
      ArrowLeft: [STEP_PX, 0], ArrowRight: [-STEP_PX, 0], ArrowUp: [0, STEP_PX], ArrowDown: [0, -STEP_PX],
    };
    const pan = pans[e.key];
    if (pan) view.pan(...pan);
    else if (e.key === "+" || e.key === "=") view.zoom(1.5, view.width / 2, view.height / 2);
    else if (e.key === "-") view.zoom(1 / 1.5, view.width / 2, view.height / 2);
    else if (e.key === "0") view.fit(view.world);
    else return;
    e.preventDefault();
    moved();
  });
}
