// The request inspector: what the page requested, as a waterfall.
import { useSignal } from "@preact/signals";
import * as text from "../text";
import { traffic, type Traffic } from "../traffic";

/** How many of the last requests are listed. */
const LISTED = 60;

export function Inspector() {
  const open = useSignal(false);
  const { requests, bytes, last } = traffic.value;
  const listed = last.slice(-LISTED);
  const first = listed[0]?.start ?? 0;
  const span = Math.max(1, ...listed.map(({ start, ms }) => start + ms - first));
  return (
    <>
      <button id="traffic" type="button" aria-expanded={open.value} aria-controls="inspector" title="What the page requested" onClick={() => { open.value = !open.value; }}>
        {requests} request{requests === 1 ? "" : "s"} · {text.bytes(bytes)}
      </button>
      {open.value ? (
        <section id="inspector" aria-label="Requests" tabIndex={0}>
          <table>
            <thead><tr><th>File</th><th>Range</th><th>Size</th><th>Time</th><th>From {text.number(Math.round(first))} ms to {text.number(Math.round(first + span))} ms</th></tr></thead>
            <tbody>{listed.map((request, i) => <Row key={`${requests - listed.length + i}`} request={request} first={first} span={span} />)}</tbody>
          </table>
        </section>
      ) : null}
    </>
  );
}

function Row({ request: { url, range, status, bytes, ms, start }, first, span }: { request: Traffic; first: number; span: number }) {
  const percent = (part: number) => `${((100 * part) / span).toFixed(2)}%`;
  return (
    <tr>
      <td title={url}>{new URL(url).pathname.split("/").slice(-2).join("/")}{status >= 400 ? ` (${status})` : ""}</td>
      <td>{range ? `${range[0]}–${range[1]}` : "all"}</td>
      <td>{text.bytes(bytes)}</td>
      <td>{Math.round(ms)} ms</td>
      <td><span class="bar" style={{ marginLeft: percent(start - first), width: percent(Math.max(ms, span / 300)) }} /></td>
    </tr>
  );
}
