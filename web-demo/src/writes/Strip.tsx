// A strip over the times of writes, with a mark for each fragment or group of fragments, and their boxes over the picture.
import { useSignal } from "@preact/signals";
import type { Extreme, FragmentInfo, TileArray } from "hyperslab";
import { useMemo } from "preact/hooks";
import type { Camera } from "../camera";
import { moments } from "../session";
import * as text from "../text";
import { groupsOf, groupText, nearest, originText, type Group } from "./groups";
import { areWritesShown } from "./state";

/** The ends of a box in the world of a camera. */
export interface Rect { readonly x0: number; readonly x1: number; readonly y0: number; readonly y1: number }

interface Props {
  array: TileArray;
  camera: Camera;
  /** Where the box of a fragment is. `undefined`: not in this picture. */
  rectOf(fragment: FragmentInfo): Rect | undefined;
  /** The coordinates of what is under the pointer, in the order of the array's dimensions. */
  under: readonly Extreme[] | undefined;
}

/** The most boxes that are drawn at once. */
const BOXES_MAX = 200;
/** The shortest side of a drawn box. */
const LEAST_PX = 4;
const HEIGHT = 36;

export function WritesStrip(props: Props) {
  return areWritesShown.value ? <OpenStrip {...props} /> : null;
}

function OpenStrip({ array, camera, rectOf, under }: Props) {
  const all = useMemo(() => array.fragments(), [array]);
  const sorted = useMemo(() => [...all].sort((a, b) => a.end - b.end || a.start - b.start), [all]);
  const times = moments.value;
  const [start, end] = [Math.min(times[0] ?? Infinity, sorted[0]?.end ?? Infinity), Math.max(times.at(-1) ?? -Infinity, sorted.at(-1)?.end ?? -Infinity)];
  const groups = useMemo(() => groupsOf(sorted, start, end), [sorted, start, end]);
  const over = useSignal<Group | undefined>(undefined);
  const single = useSignal<number | undefined>(undefined);
  const count = sorted.length;
  const one = single.value === undefined ? undefined : Math.min(single.value, count - 1);
  const chosen = over.value ?? (one === undefined || one < 0 ? undefined : { first: one, last: one });
  const boxes = useMemo(() => (chosen ? sorted.slice(Math.max(chosen.first, chosen.last + 1 - BOXES_MAX), chosen.last + 1).flatMap((fragment) => rectOf(fragment) ?? []) : []), [sorted, chosen?.first, chosen?.last, rectOf]);
  if (count === 0) return <section id="writes" aria-label="Writes"><p class="note">This array has no writes yet.</p></section>;
  const most = Math.max(1, ...groups.map(({ cells }) => Math.log1p(cells)));
  const point = (event: PointerEvent & { currentTarget: SVGElement }) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    over.value = nearest(groups, (event.clientX - left) / width);
  };
  const what = chosen ? `${groupText(sorted, chosen, count)}${boxes.length === 0 ? " (its box is not in this picture)" : ""}` : `${count.toLocaleString("en")} write${count === 1 ? "" : "s"}. Point at a mark to see its box.`;
  return (
    <>
      <Boxes camera={camera} boxes={boxes} />
      <section id="writes" aria-label="Writes">
        <output id="write">{what}</output>
        <svg viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" onPointerMove={point} onPointerLeave={() => { over.value = undefined; }}
          onClick={() => { single.value = over.peek()?.last; }}>
          <path d={`M0 ${HEIGHT - 1}H1000`} />
          {groups.map((group) => <path key={group.place} class={chosen && group.first <= chosen.last && group.last >= chosen.first ? "mark chosen" : "mark"} d={`M${3 + group.place * 994} ${HEIGHT}V${HEIGHT - 6 - (HEIGHT - 8) * (Math.log1p(group.cells) / most)}`} />)}
        </svg>
        <div class="ends"><span>{text.moment(start)}</span><span>{text.moment(end)}</span></div>
        <div class="row">
          <input id="write-index" type="range" min="0" max={String(count - 1)} step="1" value={String(one ?? count - 1)} aria-label="Write" aria-valuetext={groupText(sorted, { first: one ?? count - 1, last: one ?? count - 1 }, count)}
            onInput={(event) => { single.value = Number(event.currentTarget.value); }} />
          <output id="origin">{under ? originText(all, sorted, under) : ""}</output>
        </div>
      </section>
    </>
  );
}

/** Boxes over the picture. */
function Boxes({ camera, boxes }: { camera: Camera; boxes: readonly Rect[] }) {
  void camera.state.value;
  const { width, height } = camera.size.value;
  const path = boxes.map(({ x0, x1, y0, y1 }) => {
    const [[left, top], [right, bottom]] = [camera.toScreen(x0, y0), camera.toScreen(x1, y1)];
    const [across, down] = [right - left, bottom - top].map((side) => Math.max(0, LEAST_PX - Math.abs(side)) / 2) as [number, number];
    const [l, r, t, b] = [Math.min(left, right) - across, Math.max(left, right) + across, Math.min(top, bottom) - down, Math.max(top, bottom) + down];
    return `M${l} ${t}H${r}V${b}H${l}Z`;
  }).join("");
  return <svg id="write-boxes" class="outline" viewBox={`0 0 ${width} ${height}`} aria-hidden="true"><path class="halo" d={path} /><path d={path} /></svg>;
}
