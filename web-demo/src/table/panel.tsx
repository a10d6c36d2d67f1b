// A table with its condition, its number of rows, and what can be done with them.
import { copyRows, saveArrow, saveText } from "./copy";
import { FilterBox } from "../ui/FilterBox";
import { TableGrid } from "./grid";
import { countOf } from "./selection";
import type { TableState } from "./state";

/** `name`: of the files that are saved. */
export function TablePanel({ state, name }: { state: TableState; name: string }) {
  return (
    <section class="table-panel" aria-label={`Table ${name}`}>
      <div class="table-bar">
        <FilterBox where={state.view.value.where} fields={state.fields.value} wrong={state.badCondition.value} onWhere={(where) => void state.show({ where })} />
        <Count state={state} />
        <Actions state={state} name={name} />
      </div>
      {state.failure.value === undefined ? null : <p class="table-failure" role="alert">{state.failure.value}</p>}
      <TableGrid state={state} label={name} />
      <ActiveCell state={state} />
    </section>
  );
}

function Count({ state }: { state: TableState }) {
  const rows = state.rows.value;
  const { where, only } = state.view.value;
  const chosen = countOf(state.selected.value);
  const count = rows === undefined ? "…" : `${rows.length.toLocaleString("en")} row${rows.length === 1 ? "" : "s"}${where || only ? " found" : ""}`;
  return <p class="table-count" role="status">{count}{chosen > 0 ? `, ${chosen.toLocaleString("en")} selected` : ""}</p>;
}

function Actions({ state, name }: { state: TableState; name: string }) {
  const chosen = countOf(state.selected.value) > 0;
  const what = chosen ? "the selected rows" : "all rows";
  return (
    <div class="table-actions">
      <button type="button" disabled={!chosen} title="Copy the selected rows as tab-separated text (Ctrl+C)" onClick={() => void copyRows(state, "\t")}>Copy</button>
      <button type="button" disabled={!chosen} title="Copy the selected rows as comma-separated text" onClick={() => void copyRows(state, ",")}>Copy CSV</button>
      <button type="button" title={`Save ${what} as CSV`} onClick={() => void saveText(state, name, ",")}>Save CSV</button>
      <button type="button" title={`Save ${what} as an Arrow stream, in the order of the array`} onClick={() => void saveArrow(state, name)}>Save Arrow</button>
    </div>
  );
}

/** The whole text of the active cell, which may be cut in the table. */
function ActiveCell({ state }: { state: TableState }) {
  const { row, column } = state.active.value;
  void state.arrived.value;
  const field = state.fields.value[column];
  if (row < 0 || !field || !state.rows.value?.length) return <p class="table-active" />;
  return <p class="table-active">Row {(row + 1).toLocaleString("en")}, {field.name || "(unnamed)"}: <b>{state.text(row, field, 10_000) ?? "…"}</b></p>;
}
