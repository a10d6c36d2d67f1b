// Editing: makes a copy on this device, paints cells, and saves the copy as a zip file.
import { useSignal } from "@preact/signals";
import { consolidate, vacuum } from "hyperslab";
import { exportZip } from "hyperslab/zip";
import { isCopy, makeCopy } from "../copies";
import { addressOf } from "../opened";
import { save } from "../save";
import { messageOf, show, travelToLast } from "../session";
import type { GridModel } from "./model";

export function PaintControls({ model }: { model: GridModel }) {
  const state = useSignal<string | undefined>(undefined);
  const isRunning = useSignal(false);
  const { opened, brush } = model;
  const run = (what: string, work: () => Promise<unknown>) => async () => {
    if (isRunning.peek()) return;
    isRunning.value = true;
    state.value = what;
    try {
      await work();
      state.value = undefined;
    } catch (error) {
      state.value = messageOf(error);
    } finally {
      isRunning.value = false;
    }
  };
  if (!isCopy(opened.place.url)) {
    const copy = run("Copying…", async () => show(await makeCopy(opened, (done) => { state.value = `Copying ${done}…`; }), { ...model.link() }));
    return <div id="edit"><button type="button" class="plain" onClick={() => void copy()}>Edit a copy on this device</button>{state.value ? <p role="status">{state.value}</p> : null}</div>;
  }
  const array = model.loaded.value?.levels[0]?.array;
  return (
    <fieldset id="edit">
      <legend>Edit</legend>
      <label class="check"><input id="paint" type="checkbox" checked={brush.value.isOn} disabled={opened.at !== undefined || model.blended.value.length > 0} onChange={(event) => { brush.value = { ...brush.value, isOn: event.currentTarget.checked }; }} /> Paint by dragging</label>
      {opened.at === undefined ? null : <p class="note">Move the time slider to its end to paint.</p>}
      {model.blended.value.length > 0 ? <p class="note">Draw one channel alone to paint it.</p> : null}
      <div class="row">
        <label>Value <input id="paint-value" type="text" inputMode="decimal" value={brush.value.value} onInput={(event) => { brush.value = { ...brush.value, value: event.currentTarget.value }; }} /></label>
        <label>Brush <input id="paint-size" type="number" min="1" max="200" value={String(brush.value.size)} onChange={(event) => { brush.value = { ...brush.value, size: Math.max(1, Math.min(200, Math.round(Number(event.currentTarget.value)) || 1)) }; }} /></label>
      </div>
      <p class="note">Each stroke is one write. To see the cells before it, move the time slider back.</p>
      {array ? (
        <div class="row">
          <button type="button" class="plain" onClick={() => void run("Packing…", async () => save(await new Response(exportZip(opened.store)).blob(), `${addressOf(opened.place).split(":").at(-1)}.zip`))()}>Save as zip</button>
          <button type="button" class="plain" title="Merge the writes. Earlier times of dense arrays can no longer be shown." onClick={() => void run("Merging…", async () => { await consolidate(array); await vacuum(array); await travelToLast(model.opened.place); })()}>Merge writes</button>
        </div>
      ) : null}
      {state.value ? <p role="status">{state.value}</p> : null}
    </fieldset>
  );
}
