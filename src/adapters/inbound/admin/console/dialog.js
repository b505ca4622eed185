// The one dialog: what is about to be done, its consequence in words, and a reason. It closes only
// when it is done or the operator steps back.

import { told } from "/console/client.js";
import { byId, make, say, sayOrHide } from "/console/dom.js";
import { t } from "/console/words.js";

const dialog = byId("dialog");
const form = dialog.querySelector("form");
const [fields, yes, no] = ["dialog-fields", "dialog-yes", "dialog-no"].map(byId);
let plan;

/** A labelled input; `name` is its key among the values. */
export function field(name, label, input, hint) {
  input.name = name;
  input.id = `dialog-${name}`;
  const below = hint && make("small", { id: `${input.id}-hint` }, hint);
  if (below) input.setAttribute("aria-describedby", below.id);
  return make("div", { className: "field" }, make("label", { htmlFor: input.id }, label), input, below);
}

export const text = (properties) =>
  make("input", { type: "text", autocomplete: "off", ...properties });

/** The reason that the audit keeps. */
export const reason = (required) =>
  field("reason", t("reason"), text({ maxLength: 500, required, pattern: ".*\\S.*" }));

/** A list to choose one value of, with its words. */
export function choice(options, chosen) {
  const select = make("select");
  for (const [value, label] of options) {
    select.append(make("option", { value, selected: value === chosen }, label));
  }
  return select;
}

const values = () => Object.fromEntries(new FormData(form));

function describe() {
  const { effect, danger } = plan;
  say(byId("dialog-effect"), effect(values()));
  const dangerous = danger(values());
  yes.className = dangerous ? "danger" : "primary";
  byId("dialog-effect").classList.toggle("grave", dangerous);
}

/**
 * Opens it. `effect` and `danger` look at the values each time that one changes; `act` does it, and
 * whatever it throws is told in the dialog, where it can be tried again.
 */
export function open({ title, body, effect, danger = () => false, verb, act }) {
  plan = { effect, danger, act };
  say(byId("dialog-title"), title);
  say(yes, verb);
  sayOrHide(byId("dialog-wrong"), "");
  fields.replaceChildren(...body.filter((child) => child !== undefined));
  describe();
  dialog.showModal();
}

async function submit(event) {
  event.preventDefault();
  if (yes.disabled) return;
  yes.disabled = true;
  sayOrHide(byId("dialog-wrong"), "");
  try {
    await plan.act(values());
    dialog.close();
  } catch (error) {
    sayOrHide(byId("dialog-wrong"), told(error));
  } finally {
    yes.disabled = false;
  }
}

form.addEventListener("submit", submit);
form.addEventListener("input", describe);
no.addEventListener("click", () => dialog.close());

let fading;

/** A word that something is done. */
export function toast(words) {
  const shown = byId("toast");
  say(shown, words);
  shown.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => shown.classList.remove("shown"), 6_000);
}
