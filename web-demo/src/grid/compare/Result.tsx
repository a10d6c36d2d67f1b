// What a comparison found, and what its colours mean.
import * as text from "../../text";
import type { GridModel } from "../model";
import { APPEARED_COLOUR, LABEL_COLOUR, VANISHED_COLOUR } from "./layers";
import { COMPARED_MAX } from "./state";

export function CompareResult({ model: { comparison, loaded } }: { model: GridModel }) {
  const [times, counts, wanted] = [comparison.times.value, comparison.counts.value, comparison.wanted.value];
  if (!times) return null;
  const [from, to] = times;
  const rows: [string, number, readonly number[] | undefined][] = [
    ["changed", counts?.changed ?? 0, loaded.value?.meaning.label ? LABEL_COLOUR : undefined],
    ["appeared", counts?.appeared ?? 0, APPEARED_COLOUR],
    ["disappeared", counts?.vanished ?? 0, VANISHED_COLOUR],
  ];
  return (
    <section id="changes" class="chart" aria-label="What changed">
      <b>From {text.moment(from)} to {to === undefined ? "now" : text.moment(to)}</b>
      {comparison.failure.value === undefined ? null : <p role="alert">{comparison.failure.value}</p>}
      {comparison.isTooMuch ? <p role="alert">{(wanted?.cells ?? 0).toLocaleString("en")} cells in view may have changed; at most {COMPARED_MAX.toLocaleString("en")} are compared. Zoom in to see them.</p> : null}
      {comparison.isReading.value ? <p role="status">Comparing…</p> : null}
      {counts ? (
        <>
          <ul role="status">{rows.map(([name, count, colour]) => <li key={name}>{colour ? <Swatch colour={colour} /> : null}{count.toLocaleString("en")} {name}</li>)}</ul>
          <p class="note">Cells of the array itself{wanted?.isWhole ? "" : " in view"}, not of its overviews.{comparison.isLater ? " Cells that were written outside this picture later are not shown. Show the later moment to see them." : ""}</p>
        </>
      ) : null}
    </section>
  );
}

function Swatch({ colour }: { colour: readonly number[] }) {
  return <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true"><rect width="1" height="1" fill={`rgb(${colour.join()})`} /></svg>;
}
