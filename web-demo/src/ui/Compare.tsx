// Chooses the moment that the shown one is compared with.
import { compared } from "../compare";
import { moment, moments } from "../session";
import * as text from "../text";

export function Compare() {
  const [times, chosen] = [moments.value, compared.value];
  if (times.length < 2) return null;
  const index = chosen === undefined ? 0 : Math.max(0, times.findLastIndex((time) => time <= chosen));
  const other = moment.value > 0 ? moment.value - 1 : 1;
  return (
    <div id="compare">
      <label class="check"><input type="checkbox" checked={chosen !== undefined} onChange={(event) => { compared.value = event.currentTarget.checked ? times[other] : undefined; }} /> Show what changed</label>
      {chosen === undefined ? null : (
        <label>Compare with <output>{text.moment(chosen)}</output>
          <input id="compared" type="range" min="0" step="1" max={String(times.length - 1)} value={String(index)} aria-valuetext={text.moment(chosen)} onInput={(event) => { compared.value = times[Number(event.currentTarget.value)]; }} />
        </label>
      )}
    </div>
  );
}
