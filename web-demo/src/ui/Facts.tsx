// The properties of an array.
import { useMemo } from "preact/hooks";
import { arrayOf, type Opened } from "../opened";
import * as text from "../text";

export function Facts({ opened }: { opened: Opened }) {
  const array = arrayOf(opened);
  // There may be thousands.
  const fragments = useMemo(() => array?.fragments() ?? [], [array]);
  if (!array) return null;
  const { notes = [] } = opened.dataset;
  return (
    <section id="facts" aria-label="Properties">
      <table>
        <tbody>
          <Row name="Type">{array.kind}</Row>
          {array.dims.map(({ name, type, domain, tile }) => (
            <Row key={`dim ${name}`} name={name || "dimension"}>
              {type}{domain ? `, ${text.value(domain[0], type)} … ${text.value(domain[1], type)}` : ""}{tile ? `, tile ${text.number(Number(tile))}` : ""}
            </Row>
          ))}
          {array.attrs.map(({ name, type, nullable, enumeration, cell }) => (
            <Row key={`attr ${name}`} name={name || "attribute"}>
              {type}{nullable ? ", nullable" : ""}{enumeration === undefined ? "" : `, enumeration ${enumeration}`}{cell === "var" ? ", variable length" : ""}
            </Row>
          ))}
          <Row name="Fragments">{String(fragments.length)}</Row>
          <Row name="On disk">{text.bytes(fragments.reduce((n, f) => n + Number(f.bytes), 0))}</Row>
          {notes.map((note) => <Row key={note} name="Note">{note}</Row>)}
        </tbody>
      </table>
    </section>
  );
}

function Row({ name, children }: { name: string; children?: preact.ComponentChildren }) {
  return <tr><th scope="row">{name}</th><td>{children}</td></tr>;
}
