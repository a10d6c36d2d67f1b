// The rows of a table on the screen. Only visible cells are elements.
import { untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { copyRows } from "./copy";
import { gutterOf, isNumeric, placed, subtitle, visible, widthOf, type Placed } from "./layout";
import { isSortable } from "./order";
import { HEADER_PX, ROW_PX, Scroller } from "./scroll";
import * as selection from "./selection";
import type { TableState } from "./state";

/** How many rows decide on the widths of columns. */
const MEASURED = 100;

/** The table. `label`: its name, for screen readers. */
export function TableGrid({ state, label }: { state: TableState; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSignal({ width: 800, height: 400 });
  const left = useSignal(0);
  const top = useSignal(0);
  const widths = useWidths(state);
  const gutter = useComputed(() => gutterOf(state.rows.value?.length ?? 0));
  const columns = useComputed(() => placed(state.fields.value, widths.value, gutter.value));
  const scroller = useComputed(() => {
    const next = new Scroller(state.rows.value?.length ?? 0, Math.max(ROW_PX, size.value.height - HEADER_PX));
    next.moveTo(top.peek());
    return next;
  });
  useEffect(() => observeSize(box.current as HTMLDivElement, (width, height) => (size.value = { width, height })), []);
  // Other rows start at the top.
  useSignalEffect(() => { void state.rows.value; top.value = 0; });
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    element.scrollTop = scroller.value.barTop;
    scroller.value.settle(element.scrollTop);
  }, [scroller.value]);

  const { rows } = scroller.value;
  const first = Math.floor(top.value);
  const end = Math.min(rows, Math.ceil(top.value + scroller.value.height / ROW_PX) + 1);
  const shown = visible(columns.value, left.value + gutter.value, left.value + size.value.width);
  const names = shown.map(({ field }) => field.name);
  useEffect(() => { if (rows > 0) state.want(first, end, names); }, [first, end, names.join("\0"), state.rows.value]);

  const move = (to: number) => {
    const element = box.current as HTMLDivElement;
    scroller.value.moveTo(to);
    element.scrollTop = scroller.value.barTop;
    scroller.value.settle(element.scrollTop);
    top.value = scroller.value.top;
  };
  const goTo = (row: number, column: number, extend: boolean) => {
    const to = Math.max(-1, Math.min(rows - 1, row));
    state.active.value = { row: to, column: Math.max(0, Math.min(columns.value.length - 1, column)) };
    if (extend && to >= 0) state.selected.value = selection.extended(state.selected.peek(), to);
    if (to >= 0) {
      const before = scroller.value.top;
      scroller.value.show(to);
      if (scroller.value.top !== before) move(scroller.value.top);
    }
    showColumn(box.current as HTMLDivElement, columns.value[state.active.value.column], gutter.value);
  };
  useSignalEffect(() => {
    const to = state.revealed.value;
    if (to) untracked(() => goTo(to.row, state.active.peek().column, false));
  });
  const total = (columns.value.at(-1)?.left ?? 0) + (columns.value.at(-1)?.width ?? 0);
  const { active } = state;
  void state.arrived.value;
  const isVisible = ({ row, column }: { row: number; column: number }) => (row === -1 || (row >= first && row < end)) && shown.some(({ index }) => index === column);
  return (
    <div class="table-grid" ref={box} role="grid" tabIndex={0} aria-label={label} aria-rowcount={rows + 1} aria-colcount={columns.value.length + 1}
      aria-multiselectable="true" aria-busy={state.busy.value > 0} {...(isVisible(active.value) ? { "aria-activedescendant": cellId(active.value.row, active.value.column) } : {})}
      onScroll={(e) => { const { scrollTop, scrollLeft } = e.currentTarget; left.value = scrollLeft; if (scrollTop !== Math.round(scroller.value.barTop)) scroller.value.moveBar(scrollTop); top.value = scroller.value.top; }}
      onKeyDown={(e) => { if (pressed(e, state, goTo, Math.max(1, Math.floor(scroller.value.height / ROW_PX) - 1))) e.preventDefault(); }}>
      <div class="table-content" role="presentation" style={{ width: `${total}px`, height: `${scroller.value.spacer + HEADER_PX}px` }}>
        <Header state={state} columns={shown} gutter={gutter.value} />
        <div class="table-body" role="rowgroup" style={{ height: `${Math.min(scroller.value.height, scroller.value.spacer)}px` }}>
          <div role="presentation" style={{ transform: `translateY(${(first - top.value) * ROW_PX}px)` }}>
            {Array.from({ length: Math.max(0, end - first) }, (_, i) => <Row key={first + i} state={state} row={first + i} columns={shown} gutter={gutter.value} />)}
          </div>
        </div>
      </div>
    </div>
  );
}

function Header({ state, columns, gutter }: { state: TableState; columns: readonly Placed[]; gutter: number }) {
  const { sort } = state.view.value;
  return (
    <div class="table-header" role="rowgroup">
      <div role="row" aria-rowindex={1}>
        <div class="table-gutter" role="columnheader" aria-colindex={1} style={{ width: `${gutter}px` }}><span class="unseen">Row</span></div>
        {columns.map(({ field, index, left, width }) => {
          const order = sort?.name === field.name ? (sort.descending ? "descending" : "ascending") : "none";
          const isActive = state.active.value.row === -1 && state.active.value.column === index;
          return (
            <div key={field.name} id={cellId(-1, index)} class={`table-cell${isNumeric(field) ? " numeric" : ""}${isActive ? " active" : ""}`} role="columnheader" aria-colindex={index + 2}
              aria-sort={order} style={{ left: `${left}px`, width: `${width}px` }}
              onClick={() => { if (isSortable(field)) void state.sortBy(field.name); }} title={isSortable(field) ? `Sort by ${field.name || "data"}` : undefined}>
              <span class="table-name">{field.name || "(unnamed)"}{order === "none" ? "" : order === "ascending" ? " ▲" : " ▼"}</span>
              <span class="table-type">{subtitle(field)}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Row({ state, row, columns, gutter }: { state: TableState; row: number; columns: readonly Placed[]; gutter: number }) {
  const isSelected = selection.isSelected(state.selected.value, row);
  const { active } = state;
  const choose = (e: MouseEvent, column: number) => {
    active.value = { row, column };
    const before = state.selected.peek();
    state.selected.value = e.shiftKey ? selection.extended(before, row) : e.ctrlKey || e.metaKey ? selection.toggled(before, row) : selection.only(row);
  };
  return (
    <div class={`table-row${isSelected ? " selected" : ""}`} role="row" aria-rowindex={row + 2} aria-selected={isSelected}>
      <div class="table-gutter" role="rowheader" aria-colindex={1} style={{ width: `${gutter}px` }} onClick={(e) => choose(e, active.peek().column)}>{(row + 1).toLocaleString("en")}</div>
      {columns.map(({ field, index, left, width }) => {
        const value = state.value(row, field);
        const isActive = active.value.row === row && active.value.column === index;
        const shade = value === undefined ? " waiting" : value === null ? " null" : "";
        return (
          <div key={field.name} id={cellId(row, index)} class={`table-cell${isNumeric(field) ? " numeric" : ""}${isActive ? " active" : ""}${shade}`} role="gridcell" aria-colindex={index + 2}
            style={{ left: `${left}px`, width: `${width}px` }} onClick={(e) => choose(e, index)}>{state.text(row, field) ?? "…"}</div>
        );
      })}
    </div>
  );
}

/** Does what a key of the grid does. Returns whether there is something to do. */
function pressed(e: KeyboardEvent, state: TableState, goTo: (row: number, column: number, extend: boolean) => void, page: number): boolean {
  const { row, column } = state.active.peek();
  const rows = state.rows.peek()?.length ?? 0;
  const [control, shift] = [e.ctrlKey || e.metaKey, e.shiftKey];
  const lastColumn = state.fields.peek().length - 1;
  const steps: Record<string, () => void> = {
    ArrowUp: () => goTo(control ? 0 : row - 1, column, shift),
    ArrowDown: () => goTo(control ? rows - 1 : row + 1, column, shift),
    ArrowLeft: () => goTo(row, column - 1, false),
    ArrowRight: () => goTo(row, column + 1, false),
    PageUp: () => goTo(Math.max(0, row - page), column, shift),
    PageDown: () => goTo(row + page, column, shift),
    Home: () => goTo(control ? 0 : row, control ? column : 0, shift && control),
    End: () => goTo(control ? rows - 1 : row, control ? column : lastColumn, shift && control),
    Escape: () => { state.selected.value = selection.NONE; },
    " ": () => { if (row >= 0) state.selected.value = control ? selection.toggled(state.selected.peek(), row) : selection.only(row); },
    Enter: () => {
      const field = state.fields.peek()[column];
      if (row === -1 && field && isSortable(field)) void state.sortBy(field.name);
    },
    ...(control ? { a: () => { state.selected.value = selection.all(rows); }, c: () => { void copyRows(state, "\t"); } } : {}),
  };
  const step = Object.hasOwn(steps, e.key) ? steps[e.key] : undefined;
  step?.();
  return step !== undefined;
}

/** The widths of the columns, from the first rows that were read. They stay when other rows are shown. */
function useWidths(state: TableState) {
  const widths = useSignal<readonly number[]>([]);
  const measured = useSignal(new Set<number>());
  useSignalEffect(() => {
    void state.arrived.value;
    const rows = Math.min(MEASURED, state.rows.value?.length ?? 0);
    const before = widths.peek();
    const next = state.fields.value.map((field, i) => {
      const texts = measured.peek().has(i) ? [] : [...Array(rows).keys(), (state.rows.value?.length ?? 0) - 1].map((row) => (row < 0 ? "" : (state.text(row, field) ?? ""))).filter(Boolean);
      if (texts.length === 0) return before[i] ?? widthOf(field, []);
      measured.peek().add(i);
      return widthOf(field, texts);
    });
    if (next.some((width, i) => width !== before[i])) widths.value = next;
  });
  return widths;
}

function cellId(row: number, column: number): string {
  return `cell-${row}-${column}`;
}

/** Scrolls sideways so that a column is visible. */
function showColumn(box: HTMLDivElement, column: Placed | undefined, gutter: number): void {
  if (!column) return;
  if (column.left - gutter < box.scrollLeft) box.scrollLeft = column.left - gutter;
  else if (column.left + column.width > box.scrollLeft + box.clientWidth) box.scrollLeft = column.left + column.width - box.clientWidth;
}

function observeSize(element: HTMLElement, changed: (width: number, height: number) => void): () => void {
  const observer = new ResizeObserver(() => changed(element.clientWidth, element.clientHeight));
  observer.observe(element);
  return () => observer.disconnect();
}
