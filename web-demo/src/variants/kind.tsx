// Variant calls of TileDB-VCF, listed by region and sample.
import type { Kind } from "../kind";
import { nameOf } from "../table/kind";
import { TablePanel } from "../table/panel";
import { VariantsModel } from "./model";

export const variants: Kind<VariantsModel> = {
  name: "variants",
  model: (opened, link) => new VariantsModel(opened, link),
  Controls,
  Stage: ({ model }) => <TablePanel state={model.state} name={`${nameOf(model.opened)}-variants`} />,
};

function Controls({ model }: { model: VariantsModel }) {
  const submit = (e: Event) => {
    e.preventDefault();
    void model.show();
  };
  const samples = model.samples.value;
  return (
    <form class="soma-controls" onSubmit={submit}>
      <label>Region
        <input id="variants-region" type="text" list="variants-contigs" autocomplete="off" spellcheck={false} placeholder="chr1:1-1000000" value={model.region.value} onInput={(e) => (model.region.value = e.currentTarget.value)} />
      </label>
      <datalist id="variants-contigs">{model.contigs.value.map(({ name, length }) => <option key={name} value={name}>{length === undefined ? "" : `${length.toLocaleString("en")} positions`}</option>)}</datalist>
      <label>Samples, separated by commas
        <input id="variants-samples" type="text" list="variants-names" autocomplete="off" spellcheck={false} placeholder="all" value={model.chosen.value} onInput={(e) => (model.chosen.value = e.currentTarget.value)} />
      </label>
      <datalist id="variants-names">{samples.slice(0, 200).map((name) => <option key={name} value={name} />)}</datalist>
      <button type="submit">Show</button>
      <p class="table-note">{samples.length > 0 ? `${samples.length.toLocaleString("en")} samples. ` : ""}The region counts from 1, as VCF files do; the positions in the table count from 0, as stored. A long record is listed once.</p>
    </form>
  );
}
