// The picture of a grid, with its legend and the cell under the pointer.
import type { ArrayLayer } from "hyperslab/deck";
import type { FragmentInfo } from "hyperslab";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { DeckCanvas } from "../ui/DeckCanvas";
import { Legend } from "../ui/Legend";
import { Message } from "../ui/Message";
import { Status } from "../ui/Status";
import { ZoomButtons } from "../ui/ZoomButtons";
import { colorsOf } from "../colors";
import { WritesStrip } from "../writes/Strip";
import * as text from "../text";
import { CompareResult } from "./compare/Result";
import { CHANGES, layersOf } from "./compare/layers";
import { boxOf } from "./compare/region";
import { Graticule } from "./Graticule";
import { coordinatesAt, cursorText, levelText } from "./cursor";
import { layerOf } from "./layer";
import type { GridModel } from "./model";
import { MeasureLayer } from "./measure/Layer";
import { MeasureResult } from "./measure/Result";
import { SeriesChart } from "./SeriesChart";
import type { Profile } from "./profile";
import { StrokeLayer } from "./StrokeLayer";
import { numberText } from "./values";

export function Stage({ model }: { model: GridModel }) {
  const loaded = model.loaded.value;
  const key = [loaded, model.at.value, model.range.value, model.colormap.value, model.log.value, model.blended.value, model.channelRanges.value, model.comparison.times.value === undefined];
  const layer = useMemo(() => loaded && layerOf(model, loaded), [model, ...key]);
  const [differences, counts] = [model.comparison.differences.value, model.comparison.counts.value];
  const changes = useMemo(() => (loaded && differences && counts && model.comparison.times.value ? layersOf(differences, counts.most, loaded.placement.aspect) : []), [loaded, differences, model.comparison.times.value === undefined]);
  const layers = useMemo(() => [...(layer ? [layer] : []), ...changes], [layer, changes]);
  useEffect(() => () => { model.reading.value = 0; }, [model]);
  const title = loaded?.variable.long_name || loaded?.variable.name || "";
  return (
    <>
      <DeckCanvas camera={model.camera} layers={layers} label={`Picture of ${title || "the array"}`}
        onPoint={(at) => { model.pointer.value = at; }} onClick={(at) => void model.profileAt(at)} onDrawn={() => { model.drawn.value += 1; }} onError={(error) => { model.failure.value = error.message; }} />
      {loaded ? <Graticule loaded={loaded} camera={model.camera} /> : null}
      {loaded && model.comparison.times.value ? <ChangeLegend model={model} title={title} unit={loaded.meaning.unit} /> : null}
      {loaded && !model.comparison.times.value && model.blended.value.length === 0 && model.range.value.every(Number.isFinite) ? <Legend colormap={colorsOf(model.colormap.value)} range={model.range.value} steps={steps(model)} shown={(value) => numberText(value, loaded.meaning)} title={[title, loaded.meaning.unit].filter((part) => part && part !== "1").join(" in ")} /> : null}
      <MeasureLayer model={model} />
      <StrokeLayer model={model} />
      <ZoomButtons camera={model.camera} />
      <Message text={undefined} hint={model.view.value?.tooMany ? "Too many cells to show at once. Zoom in: scroll, pinch or press +. `hyperslab overviews` makes smaller copies that show all." : undefined} id="too-many" />
      <div id="charts">
        {model.profile.value ? <ProfileChart model={model} profile={model.profile.value} /> : null}
        <MeasureResult model={model} />
        <CompareResult model={model} />
      </div>
      <Message text={undefined} hint={isBare(model) ? "There is nothing to draw here: nobody wrote these cells, or all of them mean “no data”." : undefined} id="bare" />
      <Writes model={model} />
      <Bar model={model} layer={layer} />
    </>
  );
}

/** The writes of the array. */
function Writes({ model }: { model: GridModel }) {
  const [loaded, at] = [model.loaded.value, model.at.value];
  const array = loaded?.levels[0]?.array;
  const rectOf = useCallback((fragment: FragmentInfo) => {
    const box = array && fragment.nonEmptyDomain && boxOf(fragment.nonEmptyDomain, array, loaded, at);
    return box ? { x0: box.c0, x1: box.c1 + 1, y0: box.r0 * loaded.placement.aspect, y1: (box.r1 + 1) * loaded.placement.aspect } : undefined;
  }, [array, loaded, at]);
  return loaded && array ? <WritesStrip array={array} camera={model.camera} rectOf={rectOf} under={coordinatesAt(model, loaded, array)} /> : null;
}

/** The colours of changes. */
function ChangeLegend({ model, title, unit }: { model: GridModel; title: string; unit: string }) {
  const most = model.comparison.counts.value?.most ?? 0;
  if (most === 0) return null;
  return <Legend colormap={CHANGES} range={[-most, most]} steps={0} shown={(value) => `${value > 0 ? "+" : ""}${text.number(value)}`} title={`Change of ${title}${unit && unit !== "1" ? ` in ${unit}` : ""}`} />;
}

/** The values along an axis. A click there moves its slider. */
function ProfileChart({ model, profile: { axis, place, series } }: { model: GridModel; profile: Profile }) {
  return <SeriesChart id="profile" title={`${axis.axis.name} at ${place}`} series={series} position={model.at.value[axis.axis.dimension] ?? 0} onMove={(position) => model.move(axis, position)} onClose={() => { model.profile.value = undefined; }} />;
}

function Bar({ model, layer }: { model: GridModel; layer: ArrayLayer | undefined }) {
  const { camera, drawn, loaded, pointer } = model;
  // The cell under the pointer can change without a pointer event.
  void [drawn.value, camera.state.value];
  const cursor = pointer.value && layer && loaded.value ? cursorText(model, loaded.value, layer, camera.toWorld(...pointer.value)) : "";
  return <Status cursor={cursor} level={levelText(model)} busy={model.busy.value > 0} />;
}

/** Whether all cells in view have come, and none has a value. */
function isBare({ loaded, busy, drawn, view, blended, summary, failure }: GridModel): boolean {
  const isDrawn = loaded.value !== undefined && busy.value === 0 && drawn.value > 0 && view.value?.tooMany === false;
  return isDrawn && blended.value.length === 0 && summary.value === undefined && failure.value === undefined;
}

/** The number of distinct integers or booleans, if it is small enough to give each a step in the legend; otherwise 0. */
function steps(model: GridModel): number {
  const [lo, hi] = model.range.value;
  const { datatype, scale } = model.loaded.value?.meaning ?? { datatype: "", scale: 1 };
  return (datatype === "bool" || /^u?int/.test(datatype)) && scale === 1 && hi - lo < 16 ? hi - lo + 1 : 0;
}
