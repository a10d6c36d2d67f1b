// Adds, edits and deletes points.
import { useMemo } from "preact/hooks";
import { draftOf, newDraft } from "../edit/draft";
import { canEdit } from "../edit/editable";
import { EditPanel } from "../edit/EditPanel";
import { RowForm } from "../edit/RowForm";
import { allowsDuplicates, deleteRows, deleteWhere, writeRow } from "../edit/rows";
import { Task } from "../edit/task";
import type { TileArray } from "hyperslab";
import { openArray } from "../opened";
import { travelToLast } from "../session";
import type { Field } from "../table/field";
import type { Chosen, PointsModel } from "./model";

/** The form belongs to one array, so give it another `key` for another place. */
export function EditPoints({ model }: { model: PointsModel }) {
  const task = useMemo(() => new Task(), []);
  const { opened, array } = model;
  const repeats = useMemo(() => allowsDuplicates(array), [array]);
  const fields = model.columns.value;
  const chosen = model.chosenPoint.value;
  const where = model.where.value;
  const write = (what: string, work: (newest: TileArray) => Promise<void>) => task.run(what, async () => {
    await work(await openArray({ ...opened, at: undefined }, ""));
    model.chosenPoint.value = undefined;
    await travelToLast(opened.place);
  });
  return (
    <EditPanel model={model} array={array}>
      {canEdit(opened) && opened.at === undefined && fields.length > 0 ? (
        <>
          <p class="note">{noteOf(chosen, repeats)}</p>
          {chosen ? <PointForm key={chosen.turn} fields={fields} chosen={chosen} isFixed={repeats && !chosen.isNew} isBusy={task.isRunning.value} write={write} />
            : <button type="button" class="plain" onClick={() => model.placePoint({})}>New point</button>}
          {where ? <button type="button" class="plain" disabled={task.isRunning.value} onClick={() => { if (confirm(`Delete all points where ${where}, including points out of view? You can still see them at earlier times.`)) void write("Deleting…", async (newest) => deleteWhere(newest, where)); }}>Delete all points that meet the condition</button> : null}
        </>
      ) : null}
      {task.text.value === undefined ? null : <p role="alert">{task.text.value}</p>}
    </EditPanel>
  );
}

interface FormProps {
  fields: readonly Field[];
  chosen: Chosen;
  /** Whether the point cannot be changed or deleted. */
  isFixed: boolean;
  isBusy: boolean;
  write(what: string, work: (newest: TileArray) => Promise<void>): Promise<boolean>;
}

function PointForm({ fields, chosen: { isNew, point }, isFixed, isBusy, write }: FormProps) {
  const draft = useMemo(() => (isNew ? newDraft(fields, point) : draftOf(fields, (name) => point[name])), []);
  if (isFixed) return null;
  return (
    <>
      <RowForm draft={draft} action={isNew ? "Add point" : "Write point"} isBusy={isBusy} onWrite={(entered) => void write("Writing…", async (newest) => writeRow(newest, draft, entered))} />
      {isNew ? null : <button type="button" class="plain" disabled={isBusy} onClick={() => void write("Deleting…", async (newest) => deleteRows(newest, fields, [newest.dims.map(({ name }) => point[name] ?? null)]))}>Delete point</button>}
    </>
  );
}

function noteOf(chosen: Chosen | undefined, repeats: boolean): string {
  if (chosen?.isNew) return repeats ? "Enter the fields of the new point." : "Enter the fields of the new point. It replaces the point at the same coordinates, if there is one.";
  if (repeats) return "This array may have several points at the same coordinates, so a single point cannot be changed or deleted. Click an empty place to add a point, or enter a condition and delete all points that meet it.";
  return chosen ? "Change the fields of the point, or delete it. If you change its coordinates, a second point is added." : "Click a point to edit it, or an empty place to add a point.";
}
