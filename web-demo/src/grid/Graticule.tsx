// Lines at round coordinates over the picture, with a scale bar if the unit is a length.
import { unitOf } from "./crs";
import type { Loaded } from "./model";
import { roundUp, ticksOf } from "./ticks";
import type { Camera } from "../camera";
import * as text from "../text";

/** The width of the scale bar, at least. */
const BAR_PX = 80;
/** How far the scale bar is above the lower edge. */
const BAR_UP_PX = 50;

export function Graticule({ loaded: { variable, crs, x, y, placement }, camera }: { loaded: Loaded; camera: Camera }) {
  const { visible, state, size } = camera;
  const [left, right] = visible.value.x;
  const [low, high] = visible.value.y;
  const { scale } = state.value;
  const across = ticksOf(x, left, right, scale);
  const down = y ? ticksOf(y, low / placement.aspect, high / placement.aspect, scale * placement.aspect) : [];
  const { width, height } = size.value;
  const step = unitOf(crs[variable.crs ?? -1])?.isTrue === false ? undefined : lengthOf(x);
  const isAtBar = (py: number) => step !== undefined && py > height - BAR_UP_PX - 22 && py < height - BAR_UP_PX + 22;
  return (
    <svg id="graticule" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {across.map(({ place, text: label }) => {
        const [px] = camera.toScreen(place, 0);
        return <g key={`x${place}`}><path d={`M${px} 0V${height}`} /><text x={px + 4} y={14}>{label}</text></g>;
      })}
      {down.map(({ place, text: label }) => {
        const [, py] = camera.toScreen(0, place * placement.aspect);
        return <g key={`y${place}`}><path d={`M0 ${py}H${width}`} />{isAtBar(py) ? null : <text x={6} y={py - 4}>{label}</text>}</g>;
      })}
      <ScaleBar step={step} scale={scale} unit={x.axis.unit ?? ""} height={height} />
    </svg>
  );
}

function ScaleBar({ step, scale, unit, height }: { step: number | undefined; scale: number; unit: string; height: number }) {
  if (step === undefined) return null;
  const length = roundUp((BAR_PX / scale) * step);
  const pixels = (length / step) * scale;
  return <g class="scale"><path d={`M16 ${height - BAR_UP_PX}v6h${pixels}v-6`} /><text x={16} y={height - BAR_UP_PX - 6}>{`${text.number(length)} ${unit}`}</text></g>;
}

/** The width of a column, if its unit is a length. */
function lengthOf({ axis: { unit = "", coordinates } }: Loaded["x"]): number | undefined {
  const line = coordinates.type === "regular" ? coordinates : coordinates.type === "array" ? coordinates.regular : undefined;
  return line && /^(k|c|m|µ|u|n)?m$|^(kilo|centi|milli|micro|nano)?met(re|er)s?$|^(micron|µm|foot|feet|ft)$/i.test(unit) ? Math.abs(line.step) : undefined;
}
