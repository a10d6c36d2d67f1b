// A chart of values along an axis.
import { useSignal } from "@preact/signals";
import * as text from "../text";
import type { Profile } from "./profile";

interface Props {
  profile: Profile;
  /** The position that the picture shows. */
  position: number;
  unit: string;
  onMove(position: number): void;
  onClose(): void;
}

const [WIDTH, HEIGHT, MARGIN] = [520, 150, 8];

export function ProfileChart({ profile: { axis, values, place }, position, unit, onMove, onClose }: Props) {
  const over = useSignal<number | undefined>(undefined);
  const finite = values.filter(Number.isFinite);
  const [lo, hi] = [finite.reduce((a, b) => Math.min(a, b), Infinity), finite.reduce((a, b) => Math.max(a, b), -Infinity)];
  const across = (i: number) => MARGIN + (i / Math.max(1, values.length - 1)) * (WIDTH - 2 * MARGIN);
  const down = (value: number) => HEIGHT - MARGIN - ((value - lo) / (hi - lo || 1)) * (HEIGHT - 2 * MARGIN);
  const at = over.value ?? position;
  const positionAt = (event: MouseEvent & { currentTarget: SVGElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.max(0, Math.min(values.length - 1, Math.round((((event.clientX - left) / width) * WIDTH - MARGIN) / (WIDTH - 2 * MARGIN) * (values.length - 1))));
  };
  const shown = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? "no data" : `${text.number(value)}${unit && unit !== "1" ? ` ${unit}` : ""}`);
  return (
    <figure id="profile">
      <figcaption>
        <span>{axis.axis.name} at {place}</span>
        <output id="profile-value">{axis.text(at)}: {shown(values[at])}</output>
        <button type="button" class="plain" aria-label="Close the chart" onClick={onClose}>×</button>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={finite.length === 0 ? "No data" : `From ${shown(lo)} to ${shown(hi)}`}
        onPointerMove={(event) => { over.value = positionAt(event); }} onPointerLeave={() => { over.value = undefined; }} onClick={(event) => onMove(positionAt(event))}>
        <path class="line" d={pathOf(values, across, down)} />
        <path class="mark" d={`M${across(at)} 0V${HEIGHT}`} />
      </svg>
      <div class="ends"><span>{axis.text(0)}</span><span>{finite.length === 0 ? "no data" : `${shown(lo)} … ${shown(hi)}`}</span><span>{axis.text(values.length - 1)}</span></div>
    </figure>
  );
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
