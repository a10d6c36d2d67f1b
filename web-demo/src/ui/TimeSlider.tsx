// The slider over the times of writes.
import { moment, moments, opening, play, playing, travel } from "../session";
import * as text from "../text";

export function TimeSlider() {
  const index = moment.value;
  const stop = () => { playing.value = false; };
  // If the user prefers reduced motion, the button steps to the next write.
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const next = () => void travel((index + 1) % moments.value.length);
  return (
    <div id="time" hidden={moments.value.length < 2}>
      <label for="moment">Time of write <output id="moment-label">{text.moment(moments.value[index] ?? 0)}{opening.value ? " …" : ""}</output></label>
      <div class="row">
        {isStill ? <button id="play" type="button" aria-label="Show the next write" onClick={next}>▶|</button> : <button id="play" type="button" aria-label={playing.value ? "Stop" : "Play through time"} onClick={() => { if (playing.value) stop(); else void play(); }}>{playing.value ? "■" : "▶"}</button>}
        <input id="moment" type="range" min="0" step="1" max={String(Math.max(0, moments.value.length - 1))} value={String(index)} onInput={(event) => { stop(); void travel(Number(event.currentTarget.value)); }} />
      </div>
    </div>
  );
}
