// What a user takes away: the lines of code that read the same cells, and a link to what is shown.
import { useSignal } from "@preact/signals";
import { save } from "../save";
import { messageOf } from "../session";
import type { File, Line } from "../takeaway";
import { CopyButton } from "./CopyButton";

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
  const all = open.value ? [...lines(), { name: "Link", code: location.href }] : [];
  return (
    <details id="take-away" open={open.value} onToggle={(event) => { open.value = event.currentTarget.open; }}>
      <summary>Code for these cells</summary>
      {open.value && files ? <div class="row">{files().map((file) => <button key={file.name} type="button" class="plain" title={file.name} onClick={() => void take(file)}>Save {file.label}</button>)}</div> : null}
      {problem.value === undefined ? null : <p role="alert">{problem.value}</p>}
      {all.map(({ name, code }) => (
        <div key={name} class="code">
          <div class="row"><span>{name}</span><CopyButton text={code} /></div>
          <pre tabIndex={0}>{code}</pre>
        </div>
      ))}
    </details>
  );
}
