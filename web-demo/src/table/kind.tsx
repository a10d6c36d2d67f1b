// Tables: arrays whose cells are rows. Sparse arrays with two dimensions of numbers are drawn as points instead.
import type { Kind, Model } from "../kind";
import { arrayOf, type Opened } from "../opened";
import { RowChanges } from "../rows/Panel";
import { EditRows } from "./EditRows";
import { tableOf } from "./accepts";
import { TablePanel } from "./panel";
import { TableState } from "./state";

/** The state of an array that is shown as a table. */
export class TableModel implements Model {
  readonly state: TableState;

  constructor(readonly opened: Opened, link: Readonly<Record<string, string>>) {
    const array = arrayOf(opened);
    this.state = new TableState(async () => {
      if (!array) throw new Error("this is a group; open one of its arrays");
      return array;
    }, tableOf(opened), { where: link["where"], sort: link["sort"] });
  }

  get busy() { return this.state.busy; }
  /** The table shows failures itself. */
  get failure() { return this.state.failure; }
  link(): Record<string, string> { return this.state.link(); }
  stop(): void { this.state.stop(); }
}

export const table: Kind<TableModel> = {
  name: "table",
  model: (opened, link) => new TableModel(opened, link),
  Controls: ({ model }) => {
    const { fields, rows } = model.state;
    return <><p class="table-note">{rows.value ? `${rows.value.length.toLocaleString("en")} rows, ${fields.value.length} columns. ` : ""}Click a column's name to sort by it. Shift or Ctrl selects several rows.</p><EditRows key={model.opened.place} model={model} state={model.state} /></>;
  },
  compares: true,
  Stage: ({ model }) => <><TablePanel state={model.state} name={nameOf(model.opened)} /><RowChanges opened={model.opened} where={model.state.view.value.where} /></>,
};

/** The last part of the address. */
export function nameOf({ place, dataset }: Opened): string {
  return dataset.name || place.path.split("/").filter(Boolean).at(-1) || place.url.split("/").filter(Boolean).at(-1) || "table";
}
