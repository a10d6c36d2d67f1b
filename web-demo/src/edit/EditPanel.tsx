// The part that all editors share: buttons to begin editing, and to merge, clean up and save the writes.
import { consolidate, vacuum, type TileArray } from "hyperslab";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { makeCopy } from "../copies";
import type { Model } from "../kind";
import { addressOf } from "../opened";
import { save } from "../save";
import { show, travelToLast } from "../session";
import { askToEdit, canAsk, canEdit } from "./editable";
import { Task } from "./task";

interface Props {
  model: Model;
  /** The array that is edited, once it is open. */
  array: TileArray | undefined;
  /** The tools. */
  children: ComponentChildren;
}

export function EditPanel({ model, array, children }: Props) {
  const task = useMemo(() => new Task(), []);
  const { opened } = model;
  const status = task.text.value === undefined ? null : <p role="status">{task.text.value}</p>;
  if (!canEdit(opened)) {
    const copy = () => task.run("Copying…", async () => show(await makeCopy(opened, (done) => { task.text.value = `Copying ${done}…`; }), { ...model.link() }));
    return (
      <div id="edit">
        <button type="button" class="plain" onClick={() => void copy()}>Edit a copy on this device</button>
        {canAsk(opened) ? <button id="edit-folder" type="button" class="plain" onClick={() => void task.run("Asking…", async () => askToEdit(opened))}>Edit this folder</button> : null}
        {status}
      </div>
    );
  }
  const zip = async () => {
    const { exportZip } = await import("hyperslab/zip");
    save(await new Response(exportZip(opened.store)).blob(), `${addressOf(opened.place).split(/[:/]/).at(-1) || "array"}.zip`);
  };
  const remove = async () => {
    if (!array || !confirm("Permanently remove the files of merged writes? Dense arrays can then no longer be shown at earlier times. This cannot be undone.")) return;
    await task.run("Removing…", async () => { await vacuum(array); await travelToLast(opened.place); });
  };
  return (
    <fieldset id="edit">
      <legend>Edit</legend>
      {opened.at === undefined ? null : <p class="note">To edit, move the time slider to its end.</p>}
      {children}
      <p class="note">Each change is one write. To see the cells before it, move the time slider back.</p>
      {array ? (
        <div class="row wrap">
          <button type="button" class="plain" onClick={() => void task.run("Packing…", zip)}>Save as zip</button>
          <button type="button" class="plain" title="Merge the writes into one, so that reads need fewer files. The original files stay until you remove them." onClick={() => void task.run("Merging…", async () => { await consolidate(array); await travelToLast(opened.place); })}>Merge writes</button>
          <button type="button" class="plain" title="Remove the files of merged writes. Dense arrays can then no longer be shown at earlier times." onClick={() => void remove()}>Remove merged files</button>
        </div>
      ) : null}
      {status}
    </fieldset>
  );
}
