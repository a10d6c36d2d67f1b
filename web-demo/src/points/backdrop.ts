// The land behind points on the globe, if the catalog has a land mask.
import { signal } from "@preact/signals";
import { ArrayLayer } from "hyperslab/deck";
import { levels, type PyramidLevel } from "hyperslab";
import { useEffect } from "preact/hooks";
import { colorsOf } from "../colors";
import { openPlace } from "../opened";
import { catalog } from "../session";
import { isGeographic, type PointsModel } from "./model";

const land = signal<ArrayLayer | undefined>(undefined);

/** The name of the colours that mark a mask of land in the catalog. */
const LAND = "land and sea";
let isAsked = false;

/** The land behind the points of a model, once it has been read. It is read when it is first needed. */
export function useBackdrop(model: PointsModel): ArrayLayer | undefined {
  const mask = catalog.value.find(({ map }) => map === LAND);
  const isNeeded = isGeographic(model) && mask !== undefined;
  useEffect(() => {
    if (!isNeeded || isAsked) return;
    isAsked = true;
    void openPlace({ url: mask.url, path: "" })
      .then(async ({ source, dataset }) => { land.value = layerOf(await levels(source, { dataset })); })
      .catch((error: unknown) => console.warn(`The land behind the points is not shown: ${String(error)}`));
  }, [isNeeded]);
  return isNeeded ? land.value : undefined;
}

/** Draws the mask dimly on the whole globe. */
function layerOf(found: PyramidLevel[]): ArrayLayer {
  const [rows = 1, columns = 1] = found[0]?.shape ?? [];
  return new ArrayLayer({ id: "land", levels: found, place: [360 / columns, 0, -180, 0, -180 / rows, 90], range: [0, 1], colormap: colorsOf(LAND), opacity: 0.3 });
}
