// The rows that were added, removed or changed between two moments, as a table.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { compared } from "../compare";
import { arrayOf, type Opened } from "../opened";
import { save } from "../save";
import { messageOf } from "../session";
import { line } from "../table/cells";
import * as text from "../text";
import type { RowChange } from "./changes";
import { readChanges, type Changes } from "./read";
import { NULL } from "./texts";

/** The most rows that are listed. All of them are saved. */
const LISTED_MAX = 500;

/** `where`: the condition that rows must meet; empty for all. */
export function RowChanges({ opened, where }: { opened: Opened; where: string }) {
  const found = useSignal<Changes | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const time = compared.value;
  useEffect(() => {
    const abort = new AbortController();
    found.value = failure.value = undefined;
    if (time !== undefined) {
      readChanges(opened, time, where, abort.signal).then(
        (changes) => { if (!abort.signal.aborted) found.value = changes; },
        (error: unknown) => { if (!abort.signal.aborted) failure.value = messageOf(error); },
      );
    }
    return () => abort.abort();
  }, [opened, time, where]);
  if (time === undefined) return null;
  const [from, to] = time > (opened.at ?? Infinity) ? [opened.at, time] : [time, opened.at];
  return (
    <section id="row-changes" aria-label="What changed" tabIndex={0}>
      <b>From {text.moment(from ?? 0)} to {to === undefined ? "now" : text.moment(to)}{where && arrayOf(opened)?.kind === "sparse" ? ", of the rows that meet the condition" : ""}</b>
      {failure.value === undefined ? null : <p role="alert">{failure.value}</p>}
      {found.value ? <Listed changes={found.value} /> : failure.value === undefined ? <p role="status">Comparing…</p> : null}
    </section>
  );
}

function Listed({ changes: { names, rows, others } }: { changes: Changes }) {
  const count = (kind: RowChange["kind"]) => rows.filter((row) => row.kind === kind).length.toLocaleString("en");
  return (
    <>
      <p role="status">{count("added")} added, {count("removed")} removed, {count("changed")} changed{rows.length > LISTED_MAX ? `. The first ${LISTED_MAX} are listed.` : ""}
        {others.length > 0 ? ` Not compared, because only one moment has them: ${others.join(", ")}.` : ""}
        {rows.length > 0 ? <> <button type="button" class="plain" onClick={() => save(new Blob([csvOf(names, rows)], { type: "text/csv" }), "changes.csv")}>Save CSV</button></> : null}</p>
      {rows.length === 0 ? null : (
        <table>
          <thead><tr><th scope="col">change</th>{names.map((name) => <th key={name} scope="col">{name || "(unnamed)"}</th>)}</tr></thead>
          <tbody>{rows.slice(0, LISTED_MAX).map((row, i) => <Row key={i} row={row} />)}</tbody>
        </table>
      )}
    </>
  );
}

function Row({ row: { kind, before, after } }: { row: RowChange }) {
  const cells = after ?? before ?? [];
  return (
    <tr class={kind}>
      <th scope="row">{kind}</th>
      {cells.map((cell, i) => {
        const old = before?.[i];
        return <td key={i}>{kind === "changed" && old !== undefined && old !== cell ? <><del>{shown(old)}</del> → <ins>{shown(cell)}</ins></> : shown(cell)}</td>;
      })}
    </tr>
  );
}

function shown(cell: string): string {
  return cell === NULL ? "null" : cell;
}

/** All changes as a CSV file. A changed row has two lines. */
function csvOf(names: readonly string[], rows: readonly RowChange[]): string {
  const written = (kind: string, cells: readonly string[]) => line([kind, ...cells.map((cell) => (cell === NULL ? "" : cell))], ",");
  const lines = rows.map(({ kind, before = [], after = [] }) => (kind === "changed" ? written("changed from", before) + written("changed to", after) : written(kind, kind === "added" ? after : before)));
  return [line(["change", ...names], ","), ...lines].join("");
}
