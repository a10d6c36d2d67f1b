// What was measured: the statistics of a box, or the chart of a line.
import { exactNumber } from "../../table/cells";
import * as text from "../../text";
import { CopyButton } from "../../ui/CopyButton";
import { isPacked } from "../values";
import type { GridModel, Loaded } from "../model";
import { SeriesChart } from "../SeriesChart";
import type { Measure, Shape } from "./state";
import type { Statistics } from "./totals";

export function MeasureResult({ model }: { model: GridModel }) {
  const { measure } = model;
  const [loaded, shape] = [model.loaded.value, measure.shape.value];
  if (!loaded || !shape) return null;
  if (measure.series.value) {
    const series = measure.series.value;
    return <SeriesChart id="line" title={`${series.length.toLocaleString("en")} cells`} series={series} position={undefined} onOver={(position) => { measure.marked.value = position; }} onClose={() => measure.clear()} />;
  }
  return (
    <section id="statistics" class="chart" aria-label="Statistics">
      <div class="row"><b>{titleOf(shape, loaded)}</b><button type="button" class="plain" aria-label="Close the statistics" onClick={() => measure.clear()}>×</button></div>
      <Progress measure={measure} />
      {measure.failure.value === undefined ? null : <p role="alert">{measure.failure.value}</p>}
      {measure.statistics.value ? <Rows rows={rowsOf(measure.statistics.value, loaded)} /> : null}
    </section>
  );
}

function Progress({ measure: { progress, isStopped, cancel }, measure }: { measure: Measure }) {
  const now = progress.value;
  if (!now) return isStopped.value ? <p class="note">Stopped. These are the cells that were read before.</p> : null;
  const part = Math.floor((100 * now.done) / now.of);
  return <div class="row"><progress aria-label="Cells read" max={100} value={part} /><span>{part} %</span><button type="button" class="plain" onClick={() => cancel.call(measure)}>Stop</button></div>;
}

function Rows({ rows }: { rows: readonly (readonly [string, string])[] }) {
  return (
    <>
      <table><tbody>{rows.map(([name, value]) => <tr key={name}><th scope="row">{name}</th><td>{value}</td></tr>)}</tbody></table>
      <CopyButton text={rows.map((row) => row.join("\t")).join("\n")} what="the statistics" />
    </>
  );
}

/** The statistics as text. Labels and dates have no sums. */
function rowsOf({ count, missing, min, max, sum, mean, deviation }: Statistics, { meaning }: Loaded): (readonly [string, string])[] {
  const exact = (value: number | bigint) => (typeof value === "bigint" ? value.toLocaleString("en") : Number.isSafeInteger(value) ? value.toLocaleString("en") : exactNumber(value, "float64"));
  const end = (value: number | bigint | undefined) => (value === undefined ? "none" : /^(datetime|time)_/.test(meaning.datatype) ? text.value(value, meaning.datatype) : typeof value === "number" && !Number.isInteger(value) && !isPacked(meaning) ? exactNumber(value, meaning.datatype) : exact(value));
  const rows: (readonly [string, string])[] = [["Cells with a value", count.toLocaleString("en")], ["Cells without", missing.toLocaleString("en")]];
  if (meaning.label || count === 0) return rows;
  rows.push(["Lowest", end(min)], ["Highest", end(max)]);
  if (/^(datetime|time)_/.test(meaning.datatype)) return rows;
  const unit = meaning.unit && meaning.unit !== "1" ? [["Unit", meaning.unit] as const] : [];
  return [...rows, ["Mean", exact(mean)], ["Standard deviation", exact(deviation)], ["Sum", exact(sum)], ...unit];
}

/** The box in coordinates. */
function titleOf(shape: Shape, { x, y }: Loaded): string {
  if (shape.kind === "line") return "Along the line";
  const { c0, c1, r0, r1 } = shape.box;
  return [...(y ? [`${y.axis.name} ${y.text(r0)} … ${y.text(r1)}`] : []), `${x.axis.name} ${x.text(c0)} … ${x.text(c1)}`].join(", ");
}
