// The box for a condition, with completion.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { complete, type Option } from "../table/complete";
import type { Field } from "../table/field";

interface Props {
  /** The condition that cells must meet; empty for all. */
  where: string;
  /** The fields that a condition can name. */
  fields: readonly Field[];
  /** What is wrong with the condition. */
  wrong: string | undefined;
  onWhere(where: string): void;
}

export function FilterBox({ where, fields, wrong, onWhere }: Props) {
  const box = useRef<HTMLInputElement>(null);
  const typed = useSignal(where);
  const caret = useSignal(0);
  const isOpen = useSignal(false);
  const chosen = useSignal(-1);
  const found = complete(typed.value, Math.min(caret.value, typed.value.length), fields);
  const options = isOpen.value ? found.options : [];

  const read = (element: HTMLInputElement) => {
    typed.value = element.value;
    caret.value = element.selectionStart ?? element.value.length;
    chosen.value = -1;
  };
  const insert = ({ insert: text }: Option) => {
    const element = box.current as HTMLInputElement;
    const { from, to } = found;
    element.value = typed.peek().slice(0, from) + text + typed.peek().slice(to);
    element.setSelectionRange(from + text.length, from + text.length);
    read(element);
    element.focus();
  };
  const apply = () => {
    isOpen.value = false;
    onWhere(typed.peek().trim());
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
      <label for="table-where">Where</label>
      <div class="table-where">
        <input id="table-where" ref={box} type="text" role="combobox" autocomplete="off" spellcheck={false} placeholder="such as mag >= 4.5 and place like 'Al%'"
          aria-expanded={options.length > 0} aria-controls="table-options" aria-autocomplete="list" aria-invalid={wrong !== undefined} aria-describedby="table-wrong"
          {...(chosen.value >= 0 && options.length > 0 ? { "aria-activedescendant": `table-option-${chosen.value}` } : {})}
          value={typed.value} onInput={(e) => { read(e.currentTarget); isOpen.value = true; }} onClick={(e) => read(e.currentTarget)} onFocus={(e) => { read(e.currentTarget); isOpen.value = true; }}
          onKeyUp={(e) => { if (/^(ArrowLeft|ArrowRight|Home|End)$/.test(e.key)) read(e.currentTarget); }} onKeyDown={press} onBlur={() => (isOpen.value = false)} />
        <button type="button" class="plain" onClick={apply}>Filter</button>
        {where ? <button type="button" class="plain" onClick={() => { typed.value = ""; apply(); }}>Clear</button> : null}
        <ul id="table-options" class="table-options" role="listbox" aria-label="Completions" hidden={options.length === 0}>
          {options.map((option, i) => (
            <li key={option.insert} id={`table-option-${i}`} role="option" aria-selected={i === chosen.value} ref={(element) => { if (i === chosen.value) element?.scrollIntoView({ block: "nearest" }); }}
              onMouseDown={(e) => { e.preventDefault(); insert(option); }}><span>{option.label}</span><small>{option.hint}</small></li>
          ))}
        </ul>
      </div>
      <p id="table-wrong" class="table-wrong" role="alert">{wrong}</p>
    </div>
  );
}
