// The tasks: one page of them at a time, by status and by order, and what an operator may do.

import { ask, serverNow } from "/console/client.js";
import { act, mayDo } from "/console/deeds.js";
import { arrange, byId, make, say, sayOrHide } from "/console/dom.js";
import { exactly, number, relatively, t } from "/console/words.js";

const STATUSES = ["", "review", "queued", "running", "failed", "succeeded", "cancelled"];
const COLUMNS = ["task", "order", "state", "attempts", "next", "changed", "what", "actions"];
const PAGE = 20;

const rows = new Map();
/** What is asked for: the page is found by the cursors that led to it. */
const query = { status: "", order: "", cursors: [] };
let next;
let drawn = [];
let changed = () => {};

function address() {
  const parameters = new URLSearchParams({ limit: PAGE });
  if (query.status) parameters.set("status", query.status);
  if (query.order) parameters.set("order_id", query.order);
  if (query.cursors.length) parameters.set("cursor", query.cursors.at(-1));
  return `/admin/tasks?${parameters}`;
}

/** Asks for the page that is looked at, and draws it unless another one is looked at by then. */
export async function load() {
  const asked = address();
  const page = await ask("GET", asked);
  if (asked !== address()) return;
  next = page.next_cursor;
  draw(page.items);
}

function draw(tasks) {
  for (const task of tasks) {
    if (!rows.has(task.task_id)) rows.set(task.task_id, new Row());
    rows.get(task.task_id).show(task);
  }
  const shown = new Set(tasks.map((task) => task.task_id));
  for (const id of rows.keys()) if (!shown.has(id)) rows.delete(id);
  drawn = tasks.map((task) => rows.get(task.task_id));
  arrange(byId("tasks").tBodies[0], drawn.map((row) => row.element));
  byId("tasks").hidden = !tasks.length;
  sayOrHide(byId("none"), tasks.length ? "" : nothing());
  byId("newer").disabled = !query.cursors.length;
  byId("older").disabled = !next;
  say(byId("page"), t("page", { page: number(query.cursors.length + 1) }));
  byId("newer").parentElement.hidden = !next && !query.cursors.length;
}

function nothing() {
  if (query.order) return t("none_order");
  if (query.status === "review") return t("none_review");
  return query.status ? t("none_status", { status: t(query.status) }) : t("none");
}

class Row {
  constructor() {
    this.cells = Object.fromEntries(COLUMNS.map((key) => [key, make("td")]));
    for (const [key, cell] of Object.entries(this.cells)) cell.dataset.label = t(key);
    this.kind = make("small", { className: "soft" });
    this.id = make("span", { className: "id" });
    this.cells.task.append(this.id, this.kind);
    this.order = make("button", { type: "button", className: "link", title: t("only_order") });
    this.order.addEventListener("click", () => look({ order: this.task.order_id, status: "" }));
    this.cells.order.append(this.order);
    this.status = make("span", { className: "status" });
    this.why = make("small", { className: "soft" });
    this.cells.state.append(this.status, this.why);
    this.next = make("time");
    this.cells.next.append(this.next);
    this.changed = make("time");
    this.cells.changed.append(this.changed);
    this.deeds = {};
    this.element = make("tr", {}, ...Object.values(this.cells));
  }

  show(task) {
    this.task = task;
    this.element.dataset.status = task.status;
    this.element.dataset.reason = task.reason ?? "";
    say(this.id, `${task.task_id}`);
    say(this.kind, t(task.kind));
    say(this.order, task.order_id);
    say(this.status, t(`status_${task.status}`));
    const reason = task.reason === "retry" ? "retry_reason" : task.reason;
    say(this.why, reason ? t(reason) : "");
    say(this.cells.attempts, number(task.attempts));
    const provider = task.result?.provider;
    say(this.cells.what, task.error ? `${task.error.code}: ${task.error.detail}` : provider ?? "");
    this.tick();
    this.offer(mayDo(task));
  }

  tick() {
    const { status, reason, next_attempt_at: next, updated_at: updated } = this.task;
    const waits = status === "queued";
    if (next) ago(this.next, next, (distance) => (distance <= 0 ? t("due") : relatively(distance)));
    else say(this.next, waits && reason === "operator" ? t("never") : "");
    ago(this.changed, updated, (distance) => relatively(Math.min(distance, 0)));
  }

  /** A button for each deed; one that stays keeps its focus. */
  offer(deeds) {
    for (const deed of deeds) {
      this.deeds[deed] ??= this.button(deed);
    }
    arrange(this.cells.actions, deeds.map((deed) => this.deeds[deed]));
  }

  button(deed) {
    const label = `${t(deed)} ${t("task")} ${this.task.task_id}`;
    const made = make("button", { type: "button", ariaLabel: label }, t(deed));
    made.dataset.action = deed;
    made.addEventListener("click", () => act(deed, this.task, changed));
    return made;
  }
}

function ago(element, at, words) {
  const moment = Date.parse(at);
  if (element.dateTime !== at) Object.assign(element, { dateTime: at, title: exactly(moment) });
  say(element, words(moment - serverNow()));
}

/** Looks at something else, from its first page on. */
function look(wanted) {
  Object.assign(query, wanted, { cursors: [] });
  remember();
  reflect();
  changed();
}

/** The view has an address, to be passed on to a colleague. */
function remember() {
  const kept = new URLSearchParams();
  for (const key of ["status", "order"]) if (query[key]) kept.set(key, query[key]);
  history.replaceState(null, "", kept.size ? `#${kept}` : location.pathname);
}

function recall() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const status = kept.get("status") ?? "";
  query.status = STATUSES.includes(status) ? status : "";
  query.order = kept.get("order") ?? "";
  query.cursors = [];
}

function reflect() {
  for (const radio of byId("statuses").querySelectorAll("input")) radio.checked = radio.value === query.status;
  if (byId("order").value.trim() !== query.order) byId("order").value = query.order;
}

/** How many stand in each status. */
export function count(counts) {
  for (const badge of byId("statuses").querySelectorAll(".count")) {
    const found = counts[badge.dataset.status] ?? 0;
    say(badge, number(found));
    badge.classList.toggle("calls", badge.dataset.status === "review" && found > 0);
  }
}

function tab(status) {
  const radio = make("input", { type: "radio", name: "status", value: status });
  radio.addEventListener("change", () => look({ status }));
  const badge = make("span", { className: "count" });
  badge.dataset.status = status;
  return make("label", {}, radio, make("span", {}, t(status || "all")), status ? badge : undefined);
}

/** Draws the frame; `onChange` is called when something else is to be shown at once. */
export function begin(onChange) {
  changed = onChange;
  byId("statuses").append(...STATUSES.map(tab));
  byId("tasks-head").append(...COLUMNS.map((key) => make("th", { scope: "col" }, t(key))));
  byId("order").placeholder = t("order_hint");
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  let typing;
  byId("order").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => look({ order: byId("order").value.trim() }), 300);
  });
  byId("older").addEventListener("click", () => turn(() => query.cursors.push(next)));
  byId("newer").addEventListener("click", () => turn(() => query.cursors.pop()));
  addEventListener("hashchange", () => { recall(); reflect(); changed(); });
  recall();
  reflect();
}

function turn(move) {
  move();
  byId("older").disabled = byId("newer").disabled = true;
  changed();
}

export const tick = () => drawn.forEach((row) => row.tick());
