// What a user takes away: files with the cells, and the lines of code that read them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { save } from "../save";
import { messageOf } from "../session";
import type { File, Line } from "../takeaway";
import { Code } from "./Code";

interface Props {
  /** Makes the lines when the list is opened. */
  lines(): readonly Line[];
  /** Makes the list of files when it is opened. */
  files?(): readonly File[];
  /** Says what a read of the cells would request, when the list is opened. */
  plan?(signal: AbortSignal): Promise<string | undefined>;
}

export function TakeAway({ lines, files, plan }: Props) {
  const problem = useSignal<string | undefined>(undefined);
  const take = async (file: File) => {
    problem.value = undefined;
    try {
      save(new Blob([await file.read()]), file.name);
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  const open = useSignal(false);
  const planned = useSignal<string | undefined>(undefined);
  useEffect(() => {
    planned.value = undefined;
    if (!open.value || !plan) return undefined;
    const abort = new AbortController();
    // Without a plan, the cells can still be read.
    plan(abort.signal).then((text) => { if (!abort.signal.aborted) planned.value = text; }, () => undefined);
    return () => abort.abort();
  }, [open.value]);
  return (
    <details id="take-away" open={open.value} onToggle={(event) => { open.value = event.currentTarget.open; }}>
      <summary>Code for these cells</summary>
      {open.value && files ? <div class="row">{files().map((file) => <button key={file.name} type="button" class="plain" title={file.name} onClick={() => void take(file)}>Save {file.label}</button>)}</div> : null}
      {planned.value === undefined ? null : <p id="plan" class="note">{planned.value}</p>}
      {problem.value === undefined ? null : <p role="alert">{problem.value}</p>}
      {open.value ? lines().map(({ name, code }) => <Code key={name} name={name} code={code} />) : null}
    </details>
  );
}
