// Buttons that zoom, for those who have no wheel.
import type { Camera } from "../camera";

export function ZoomButtons({ camera }: { camera: Camera }) {
  return (
    <div id="buttons">
      <button id="zoom-in" type="button" aria-label="Zoom in" onClick={() => camera.zoom(2)}>+</button>
      <button id="zoom-out" type="button" aria-label="Zoom out" onClick={() => camera.zoom(0.5)}>−</button>
      <button id="fit" type="button" aria-label="Show all" onClick={() => camera.fit()}>⤢</button>
    </div>
  );
}
