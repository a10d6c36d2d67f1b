// What a user takes away: files with the cells, and the lines of code that read them.
import { useSignal } from "@preact/signals";
import { save } from "../save";
import { messageOf } from "../session";
import type { File, Line } from "../takeaway";
import { Code } from "./Code";

interface Props {
  /** Makes the lines when the list is opened. */
  lines(): readonly Line[];
  /** Makes the list of files when it is opened. */
  files?(): readonly File[];
}

export function TakeAway({ lines, files }: Props) {
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
  return (
    <details id="take-away" open={open.value} onToggle={(event) => { open.value = event.currentTarget.open; }}>
      <summary>Code for these cells</summary>
      {open.value && files ? <div class="row">{files().map((file) => <button key={file.name} type="button" class="plain" title={file.name} onClick={() => void take(file)}>Save {file.label}</button>)}</div> : null}
      {problem.value === undefined ? null : <p role="alert">{problem.value}</p>}
      {open.value ? lines().map(({ name, code }) => <Code key={name} name={name} code={code} />) : null}
    </details>
  );
}
