// The line below a picture: what is under the pointer, and what is drawn.

/** `cursor`: what is under the pointer. `level`: what a drawn cell is, if it is not a cell of the array. */
export function Status({ cursor, level, busy }: { cursor: string; level?: string; busy: boolean }) {
  return (
    <div id="status">
      <span id="cursor">{cursor}</span><span id="level">{level}</span><span id="busy">{busy ? "loading…" : ""}</span>
    </div>
  );
}
