// Edits the rows of a table: changes the active row, adds rows, and deletes selected rows.
import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { draftOf, newDraft, type Draft } from "../edit/draft";
import { canEdit } from "../edit/editable";
import { EditPanel } from "../edit/EditPanel";
import { RowForm } from "../edit/RowForm";
import { allowsDuplicates, coordinatesOf, deleteRows, deleteWhere, writeRow } from "../edit/rows";
import { Task } from "../edit/task";
import type { TileArray } from "hyperslab";
import type { Model } from "../kind";
import { arrayOf, openArray } from "../opened";
import { travelToLast } from "../session";
import { countOf } from "./selection";
import type { TableState } from "./state";

/** The form belongs to one array, so give it another `key` for another place. */
export function EditRows({ model, state }: { model: Model; state: TableState }) {
  const task = useMemo(() => new Task(), []);
  const form = useSignal<{ action: string; draft: Draft; turn: number } | undefined>(undefined);
  const { opened } = model;
  const array = arrayOf(opened);
  void [state.arrived.value, state.selected.value];
  const { row } = state.active.value;
  const { where } = state.view.value;
  const hasRows = (state.rows.value?.length ?? 0) > 0;
  const isSparse = array?.kind === "sparse";
  const repeats = useMemo(() => array !== undefined && allowsDuplicates(array), [array]);
  const chosen = countOf(state.selected.value);
  const write = (what: string, work: (newest: TileArray) => Promise<void>) => task.run(what, async () => {
    await work(await openArray({ ...opened, at: undefined }, ""));
    await travelToLast(opened.place);
  });
  const writeForm = (draft: Draft, entered: ReadonlyMap<string, string>) => write("Writing…", async (newest) => {
    await writeRow(newest, draft, entered);
    form.value = undefined;
  });
  const show = (action: string, draft: Draft) => { form.value = { action, draft, turn: (form.peek()?.turn ?? 0) + 1 }; };
  /** Reads rows of the table in its current order. The user may sort it before they arrive. */
  const reader = () => {
    const rows = state.rows.peek();
    return async (at: number, names: readonly string[]) => {
      await rows?.load(at, at + 1, names, new AbortController().signal);
      return (name: string) => rows?.cell(at, name);
    };
  };
  const change = () => {
    const [read, fields, at] = [reader(), state.fields.peek(), state.active.peek().row];
    return task.run("Reading…", async () => show("Write row", draftOf(fields, await read(at, fields.map(({ name }) => name)))));
  };
  const remove = () => {
    const [read, fields, { ranges }] = [reader(), state.fields.peek(), state.selected.peek()];
    return write("Deleting…", async (newest) => deleteRows(newest, fields, await coordinatesOf(newest, ranges, read)));
  };
  const isEditing = canEdit(opened) && opened.at === undefined;
  return (
    <EditPanel model={model} array={array}>
      {isEditing ? (
        <>
          <div class="row wrap">
            {repeats ? null : <button type="button" class="plain" disabled={task.isRunning.value || !hasRows || row < 0} onClick={() => void change()}>Edit active row</button>}
            {isSparse ? <button type="button" class="plain" disabled={task.isRunning.value} onClick={() => show("Add row", newDraft(state.fields.peek()))}>New row</button> : null}
            {isSparse && !repeats ? <button type="button" class="plain" disabled={task.isRunning.value || chosen === 0} onClick={() => void remove()}>Delete {chosen.toLocaleString("en")} selected</button> : null}
            {isSparse && where ? <button type="button" class="plain" disabled={task.isRunning.value} onClick={() => { if (confirm(`Delete all rows where ${where}? You can still see them at earlier times.`)) void write("Deleting…", async (newest) => deleteWhere(newest, where)); }}>Delete all rows found</button> : null}
          </div>
          <p class="note">{noteOf(isSparse, repeats)}</p>
          {form.value ? <RowForm key={form.value.turn} draft={form.value.draft} action={form.value.action} isBusy={task.isRunning.value} onWrite={(entered) => { const draft = form.peek()?.draft; if (draft) void writeForm(draft, entered); }} /> : null}
        </>
      ) : null}
      {task.text.value === undefined ? null : <p role="alert">{task.text.value}</p>}
    </EditPanel>
  );
}

function noteOf(isSparse: boolean, repeats: boolean): string {
  if (!isSparse) return "Rows of a dense array can be changed, but not added or deleted.";
  if (repeats) return "This array may have several rows at the same coordinates, so a single row cannot be changed or deleted. Add rows, or enter a condition and delete all rows found.";
  return "A row that you write replaces the row at the same coordinates, if there is one.";
}
