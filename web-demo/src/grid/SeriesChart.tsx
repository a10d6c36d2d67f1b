// A chart of values in a row.
import { useSignal } from "@preact/signals";
import { save } from "../save";
import * as text from "../text";
import { csvOf, textAt, type Series } from "./series";

interface Props {
  id: string;
  title: string;
  series: Series;
  /** The place that is marked unless the pointer is over the chart. */
  position: number | undefined;
  /** A place was clicked. */
  onMove?(position: number): void;
  /** The pointer is over a place, or no longer. */
  onOver?(position: number | undefined): void;
  onClose(): void;
}

const [WIDTH, HEIGHT, MARGIN] = [520, 150, 8];

export function SeriesChart({ id, title, series, position, onMove, onOver, onClose }: Props) {
  const over = useSignal<number | undefined>(undefined);
  const { values, length, meaning } = series;
  const finite = values.filter(Number.isFinite);
  const [lo, hi] = [finite.reduce((a, b) => Math.min(a, b), Infinity), finite.reduce((a, b) => Math.max(a, b), -Infinity)];
  const across = (i: number) => MARGIN + (i / Math.max(1, length - 1)) * (WIDTH - 2 * MARGIN);
  const down = (value: number) => HEIGHT - MARGIN - ((value - lo) / (hi - lo || 1)) * (HEIGHT - 2 * MARGIN);
  const at = Math.min(length - 1, over.value ?? position ?? 0);
  const positionAt = (event: MouseEvent & { currentTarget: SVGElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(length - 1, Math.round((((event.clientX - left) / width) * WIDTH - MARGIN) / (WIDTH - 2 * MARGIN) * (length - 1))));
  };
  const move = (to: number | undefined) => {
    over.value = to;
    onOver?.(to);
  };
  const press = (event: KeyboardEvent) => {
    const to = stepped(event.key, at, length);
    if (to !== undefined) move(to);
    else if (event.key === "Enter" || event.key === " ") onMove?.(at);
    else return;
    event.preventDefault();
  };
  const end = (value: number) => `${text.number(value)}${meaning.unit && meaning.unit !== "1" ? ` ${meaning.unit}` : ""}`;
  return (
    <figure id={id} class="chart">
      <figcaption>
        <span>{title}</span>
        <output id={`${id}-value`}>{series.label(at)}: {textAt(series, at)}</output>
        <button type="button" class="plain" onClick={() => save(new Blob([csvOf(series)], { type: "text/csv" }), `${id}-${series.name || "values"}.csv`)}>Save CSV</button>
        <button type="button" class="plain" aria-label="Close the chart" onClick={onClose}>×</button>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="slider" tabIndex={0} aria-label={`${title}: ${finite.length === 0 ? "no data" : `values from ${end(lo)} to ${end(hi)}`}`}
        aria-valuemin={0} aria-valuemax={length - 1} aria-valuenow={at} aria-valuetext={`${series.label(at)}: ${textAt(series, at)}`} onKeyDown={press} onBlur={() => move(undefined)}
        onPointerMove={(event) => move(positionAt(event))} onPointerLeave={() => move(undefined)} onClick={(event) => onMove?.(positionAt(event))}>
        <path class="line" d={pathOf(values, across, down)} />
        <path class="mark" d={`M${across(at)} 0V${HEIGHT}`} />
      </svg>
      <div class="ends"><span>{series.label(0)}</span><span>{finite.length === 0 ? "no data" : `${end(lo)} … ${end(hi)}`}</span><span>{series.label(length - 1)}</span></div>
    </figure>
  );
}

/** The position after a key is pressed. `undefined` if the key does not move. */
function stepped(key: string, at: number, length: number): number | undefined {
  const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -length, End: length };
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(length - 1, at + step));
}

/** Lines between neighbouring values, with gaps where there is no data. A value without neighbours is a dot. */
function pathOf(values: Float64Array, across: (i: number) => number, down: (value: number) => number): string {
  let path = "";
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const isStart = !Number.isFinite(values[i - 1] ?? NaN);
    path += `${isStart ? "M" : "L"}${across(i).toFixed(2)} ${down(value).toFixed(2)}`;
    if (isStart && !Number.isFinite(values[i + 1] ?? NaN)) path += "h.01";
  });
  return path;
}
