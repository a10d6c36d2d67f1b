// The box for a condition, with completion.
import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { complete, type Option } from "./complete";
import type { TableState } from "./state";

export function FilterBox({ state }: { state: TableState }) {
  const box = useRef<HTMLInputElement>(null);
  const typed = useSignal(state.view.peek().where);
  const caret = useSignal(0);
  const isOpen = useSignal(false);
  const chosen = useSignal(-1);
  const found = useComputed(() => complete(typed.value, Math.min(caret.value, typed.value.length), state.fields.value));
  const options = isOpen.value ? found.value.options : [];

  const read = (element: HTMLInputElement) => {
    typed.value = element.value;
    caret.value = element.selectionStart ?? element.value.length;
    chosen.value = -1;
  };
  const insert = ({ insert: text }: Option) => {
    const element = box.current as HTMLInputElement;
    const { from, to } = found.peek();
    element.value = typed.peek().slice(0, from) + text + typed.peek().slice(to);
    element.setSelectionRange(from + text.length, from + text.length);
    read(element);
    element.focus();
  };
  const apply = () => {
    isOpen.value = false;
    void state.show({ where: typed.peek().trim() });
  };
  const press = (e: KeyboardEvent) => {
    const choice = options[chosen.value];
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      const step = e.key === "ArrowDown" ? 1 : -1;
      if (isOpen.value && options.length > 0) chosen.value = (chosen.value + step + options.length + (chosen.value < 0 && step < 0 ? 1 : 0)) % options.length;
      isOpen.value = true;
    } else if ((e.key === "Enter" || e.key === "Tab") && choice) insert(choice);
    else if (e.key === "Enter") apply();
    else if (e.key === "Escape" && isOpen.value) isOpen.value = false;
    else return;
    e.preventDefault();
  };
  return (
    <div class="table-filter">
      <label for="table-where">Condition</label>
      <div class="table-where">
        <input id="table-where" ref={box} type="text" role="combobox" autocomplete="off" spellcheck={false} placeholder="such as mag >= 4.5 and place like 'Al%'"
          aria-expanded={options.length > 0} aria-controls="table-options" aria-autocomplete="list" aria-invalid={state.badCondition.value !== undefined} aria-describedby="table-wrong"
          {...(chosen.value >= 0 && options.length > 0 ? { "aria-activedescendant": `table-option-${chosen.value}` } : {})}
          value={typed.value} onInput={(e) => { read(e.currentTarget); isOpen.value = true; }} onClick={(e) => read(e.currentTarget)} onFocus={(e) => { read(e.currentTarget); isOpen.value = true; }}
          onKeyUp={(e) => { if (/^(ArrowLeft|ArrowRight|Home|End)$/.test(e.key)) read(e.currentTarget); }} onKeyDown={press} onBlur={() => (isOpen.value = false)} />
        <button type="button" onClick={apply}>Filter</button>
        {state.view.value.where ? <button type="button" onClick={() => { typed.value = ""; apply(); }}>Clear</button> : null}
        <ul id="table-options" class="table-options" role="listbox" aria-label="Completions" hidden={options.length === 0}>
          {options.map((option, i) => (
            <li key={option.insert} id={`table-option-${i}`} role="option" aria-selected={i === chosen.value} ref={(element) => { if (i === chosen.value) element?.scrollIntoView({ block: "nearest" }); }}
              onMouseDown={(e) => { e.preventDefault(); insert(option); }}><span>{option.label}</span><small>{option.hint}</small></li>
          ))}
        </ul>
      </div>
      <p id="table-wrong" class="table-wrong" role="alert">{state.badCondition.value}</p>
    </div>
  );
}
