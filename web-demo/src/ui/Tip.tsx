// A small table beside the pointer.
import { useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  rows: readonly (readonly [string, string])[];
  /** Where the pointer is, in pixels of the main area. */
  at: readonly [number, number];
}

const BESIDE_PX = 14;
/** The room to leave at the right and at the bottom, where the status line is. */
const [RIGHT_PX, BOTTOM_PX] = [8, 40];

export function Tip({ rows, at: [x, y] }: Props) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = tip;
    const room = current?.parentElement;
    if (!current || !room) return;
    current.style.left = `${Math.max(0, Math.min(x + BESIDE_PX, room.clientWidth - current.offsetWidth - RIGHT_PX))}px`;
    current.style.top = `${Math.max(0, Math.min(y + BESIDE_PX, room.clientHeight - current.offsetHeight - BOTTOM_PX))}px`;
  });
  return <div id="tip" ref={tip}><table><tbody>{rows.map(([name, value]) => <tr key={name}><th scope="row">{name}</th><td>{value}</td></tr>)}</tbody></table></div>;
}
