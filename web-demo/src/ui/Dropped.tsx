// Opens a folder or a zip file that is dropped on the page.
import { useSignal } from "@preact/signals";
import { DirectoryStore } from "hyperslab";
import { ZipStore } from "hyperslab/zip";
import { useEffect } from "preact/hooks";
import { failure, messageOf, show } from "../session";

/** Says that a folder can be dropped while one is dragged over the page. */
export function Dropped() {
  const over = useSignal(false);
  useEffect(() => {
    const allow = (event: DragEvent) => { event.preventDefault(); over.value = true; };
    const leave = (event: DragEvent) => { if (event.relatedTarget === null) over.value = false; };
    const drop = (event: DragEvent) => {
      event.preventDefault();
      over.value = false;
      if (event.dataTransfer) void take(event.dataTransfer).catch((error: unknown) => { failure.value = messageOf(error); });
    };
    addEventListener("dragover", allow);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", allow);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  return <div id="drop" hidden={!over.value}>Drop the folder of an array or a group, or a zip file of one.</div>;
}

async function take(data: DataTransfer): Promise<void> {
  const [file] = data.files;
  if (file && /\.zip$/i.test(file.name)) return show({ url: file.name, store: await ZipStore.open(file), path: "" });
  return show({ url: data.items[0]?.webkitGetAsEntry?.()?.name ?? "a dropped folder", store: await DirectoryStore.fromDrop(data.items), path: "" });
}
