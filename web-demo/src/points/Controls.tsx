// The controls of points: their colours, and which are shown.
import { Select } from "../ui/Select";
import { COLORMAPS } from "../grid/colors";
import { FilterBox } from "../ui/FilterBox";
import type { PointsModel } from "./model";

export function Controls({ model }: { model: PointsModel }) {
  return (
    <>
      <Select id="attribute" label="Colour by" options={model.fields.map((name) => ({ value: name, text: name || "(unnamed)" }))} value={model.chosen.value} onChange={(name) => model.choose(name)} />
      <Select id="colours" label="Colours" options={Object.keys(COLORMAPS).map((value) => ({ value, text: value }))} value={model.colormap.value} onChange={(map) => { model.colormap.value = map; }} />
      <FilterBox where={model.where.value} onWhere={(where) => { model.where.value = where; }} example={exampleOf(model)} />
    </>
  );
}

/** A condition that could be entered. */
function exampleOf({ fields }: PointsModel): string {
  const name = fields[0] ?? "value";
  return `${/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``} >= 1`;
}
