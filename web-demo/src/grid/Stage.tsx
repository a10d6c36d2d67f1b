// The picture of a grid, with its legend and the cell under the pointer.
import type { ArrayLayer } from "hyperslab/deck";
import { useEffect, useMemo } from "preact/hooks";
import { DeckCanvas } from "../ui/DeckCanvas";
import { Legend } from "../ui/Legend";
import { Message } from "../ui/Message";
import { Status } from "../ui/Status";
import { ZoomButtons } from "../ui/ZoomButtons";
import { colorsOf } from "../colors";
import { Graticule } from "./Graticule";
import { cursorText, levelText } from "./cursor";
import { layerOf } from "./layer";
import type { GridModel } from "./model";
import { ProfileChart } from "./ProfileChart";
import { StrokeLayer } from "./StrokeLayer";
import { numberText } from "./values";

export function Stage({ model }: { model: GridModel }) {
  const loaded = model.loaded.value;
  const key = [loaded, model.at.value, model.range.value, model.colormap.value, model.log.value, model.blended.value, model.channelRanges.value];
  const layer = useMemo(() => loaded && layerOf(model, loaded), [model, ...key]);
  useEffect(() => () => { model.reading.value = 0; }, [model]);
  const title = loaded?.variable.long_name || loaded?.variable.name || "";
  return (
    <>
      <DeckCanvas camera={model.camera} layers={useMemo(() => (layer ? [layer] : []), [layer])} label={`Picture of ${title || "the array"}`}
        onPoint={(at) => { model.pointer.value = at; }} onClick={(at) => void model.profileAt(at)} onDrawn={() => { model.drawn.value += 1; }} onError={(error) => { model.failure.value = error.message; }} />
      {loaded ? <Graticule loaded={loaded} camera={model.camera} /> : null}
      {loaded && model.blended.value.length === 0 && model.range.value.every(Number.isFinite) ? <Legend colormap={colorsOf(model.colormap.value)} range={model.range.value} steps={steps(model)} shown={(value) => numberText(value, loaded.meaning)} title={[title, loaded.meaning.unit].filter((part) => part && part !== "1").join(" in ")} /> : null}
      <StrokeLayer model={model} />
      <ZoomButtons camera={model.camera} />
      <Message text={undefined} hint={model.view.value?.tooMany ? "Too many cells to show at once. Zoom in: scroll, pinch or press +. `hyperslab overviews` makes smaller copies that show all." : undefined} id="too-many" />
      {loaded && model.profile.value ? (
        <ProfileChart profile={model.profile.value} position={model.at.value[model.profile.value.axis.axis.dimension] ?? 0} unit={loaded.meaning.unit}
          onMove={(position) => { if (model.profile.value) model.move(model.profile.value.axis, position); }} onClose={() => { model.profile.value = undefined; }} />
      ) : null}
      <Message text={undefined} hint={isBare(model) ? "There is nothing to draw here: nobody wrote these cells, or all of them mean “no data”." : undefined} id="bare" />
      <Bar model={model} layer={layer} />
    </>
  );
}

function Bar({ model, layer }: { model: GridModel; layer: ArrayLayer | undefined }) {
  const { camera, drawn, loaded, pointer } = model;
  // The cell under the pointer can change without a pointer event.
  void [drawn.value, camera.state.value];
  const cursor = pointer.value && layer && loaded.value ? cursorText(loaded.value, layer, camera.toWorld(...pointer.value), model.busy.value > 0) : "";
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
