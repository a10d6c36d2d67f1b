// A button that saves the picture as a PNG file.
import { useSignal } from "@preact/signals";
import { attributionOf } from "../attribution";
import type { Model } from "../kind";
import { save } from "../save";
import { messageOf } from "../session";
import type { Caption } from "./picture";

/** `caption` gives the texts around the picture, and the name of the file without its extension. */
export function SavePicture({ model, caption }: { model: Model; caption(): Omit<Caption, "sources"> & { name: string } }) {
  const problem = useSignal<string | undefined>(undefined);
  const take = async () => {
    problem.value = undefined;
    try {
      const { pictureFile } = await import("./picture");
      const { name, ...rest } = caption();
      save(await pictureFile({ ...rest, sources: attributionOf(model.opened) }), `${name}.png`);
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return (
    <>
      <button id="save-picture" type="button" class="plain" title="Save what you see, with its legend, as a PNG file" onClick={() => void take()}>Save picture</button>
      {problem.value === undefined ? null : <p role="alert">{problem.value}</p>}
    </>
  );
}
