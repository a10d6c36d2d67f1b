// An error or a hint over the main area.

/** Shows the error, or else the hint, or nothing. */
export function Message({ text, hint, id = "message" }: { text: string | undefined; hint: string | undefined; id?: string }) {
  const shown = text ?? hint;
  return <div id={id} role="alert" hidden={shown === undefined} class={text === undefined ? "message hint" : "message"}>{shown}</div>;
}
