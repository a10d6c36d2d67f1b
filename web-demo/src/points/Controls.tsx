// The controls of points: their colours, and which are shown.
import { Select } from "../ui/Select";
import { COLORMAPS } from "../colors";
import { planOf } from "../plan";
import { FilterBox } from "../ui/FilterBox";
import { pointsLines } from "../takeaway";
import { TakeAway } from "../ui/TakeAway";
import { WritesToggle } from "../writes/Toggle";
import { SavePicture } from "../ui/SavePicture";
import { captionOf } from "./caption";
import { EditPoints } from "./EditPoints";
import { isGeographic, type PointsModel } from "./model";

export function Controls({ model }: { model: PointsModel }) {
  return (
    <>
      <Select id="attribute" label="Colour by" options={model.fields.map((name) => ({ value: name, text: name || "(unnamed)" }))} value={model.chosen.value} onChange={(name) => model.choose(name)} />
      <Select id="colours" label="Colour map" options={Object.keys(COLORMAPS).map((value) => ({ value, text: value }))} value={model.colormap.value} onChange={(map) => { model.colormap.value = map; }} />
      {isGeographic(model) ? null : <label class="check"><input id="fill" type="checkbox" checked={model.aspect.value !== 1} onChange={(event) => model.fill(event.currentTarget.checked)} /> A scale for each axis</label>}
      <FilterBox key={model.opened.place.url} where={model.where.value} fields={model.columns.value} wrong={model.badCondition.value} onWhere={(where) => model.filter(where)} />
      <WritesToggle />
      <EditPoints key={model.opened.place} model={model} />
      <SavePicture model={model} caption={() => captionOf(model)} />
      <TakeAway lines={() => pointsLines(model.query())} plan={async (signal) => planOf(model.array, model.query(), signal)} />
    </>
  );
}
