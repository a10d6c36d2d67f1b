import { mount } from "svelte";
import { open } from "hyperslab";
import App from "./App.svelte";

const array = await open("arrays/temperature", { http: { listing: "manifest" } });
mount(App, { target: document.body, props: { array } });
