// The page's heart: it asks how things stand every few seconds, never twice at once and never while
// nobody looks, and says plainly when no answer comes or the token is wrong.

import { Refused, Silent, ask, countTasks, token, told } from "/console/client.js";
import { arrange, byId, make, say, sayOrHide } from "/console/dom.js";
import * as systems from "/console/systems.js";
import * as tasks from "/console/tasks.js";
import { atClock, lang, lasting, relatively, t } from "/console/words.js";

const PERIOD_MS = 2_000;
/** Pauses after answers that did not come. */
const PAUSES_MS = [2_000, 4_000, 8_000, 15_000];
/** The counts come out of the whole metrics page, which is longer than all the rest. */
const COUNT_EVERY_MS = 10_000;

let timer;
let running = false;
let again = false;
let silences = 0;
let nextTry = 0;
let seenAt;
let countedAt = -Infinity;
const checks = new Map();

/** Runs a round now, or right after the one that runs. */
function poll() {
  clearTimeout(timer);
  again = running;
  if (!running) round();
}

async function round() {
  running = true;
  const parts = {
    systems: ask("GET", "/admin/systems").then((found) => systems.show(found, poll)),
    tasks: tasks.load(),
    checks: ask("GET", "/health/ready", undefined, [503]).then(showChecks),
  };
  if (performance.now() - countedAt >= COUNT_EVERY_MS) {
    countedAt = performance.now();
    parts.counts = countTasks().then(tasks.count);
  }
  const names = Object.keys(parts);
  const ends = await Promise.allSettled(Object.values(parts));
  const faults = new Map(names.map((name, at) => [name, ends[at].reason]));
  running = false;
  if ([...faults.values()].some((fault) => fault instanceof Refused && fault.status === 401)) {
    return logIn();
  }
  conclude(faults);
}

function conclude(faults) {
  const silent = faults.get("systems") instanceof Silent;
  silences = silent ? silences + 1 : 0;
  if (!silent) seenAt = Date.now();
  byId("login").hidden = true;
  byId("main").hidden = seenAt === undefined;
  byId("forget").hidden = !token.get();
  document.body.classList.toggle("silent", silent);
  for (const part of ["systems", "tasks"]) {
    const fault = faults.get(part);
    const words = fault instanceof Silent ? t("no_answer") : fault && told(fault);
    sayOrHide(byId(`${part}-wrong`), silent ? "" : words);
  }
  for (const fault of faults.values()) {
    if (fault && !(fault instanceof Silent || fault instanceof Refused)) console.error(fault);
  }
  rest(silent ? PAUSES_MS[Math.min(silences, PAUSES_MS.length) - 1] : PERIOD_MS);
}

function rest(pause) {
  nextTry = Date.now() + pause;
  tick();
  if (document.hidden) return;
  timer = setTimeout(poll, again ? 0 : pause);
  again = false;
}

/** The token is missing or wrong: nothing is asked until there is another one. */
function logIn() {
  clearTimeout(timer);
  sayOrHide(byId("wrong"), token.get() ? t("login_wrong") : "");
  token.forget();
  seenAt = undefined;
  silences = 0;
  byId("dialog").close();
  byId("main").hidden = true;
  byId("forget").hidden = true;
  byId("login").hidden = false;
  document.body.classList.remove("silent");
  tick();
  byId("token").focus();
}

function showChecks({ status, version, checks: found = {} }) {
  const pill = byId("ready");
  pill.hidden = false;
  pill.dataset.mood = status === "up" ? "good" : "bad";
  say(pill, t(status === "up" ? "ready" : "not_ready"));
  pill.title = version;
  // What the service itself needs comes first.
  const sorted = Object.entries(found).sort(([, one], [, other]) => !!one.breaker - !!other.breaker);
  for (const [name, check] of sorted) {
    if (!checks.has(name)) checks.set(name, makeCheck(name));
    checks.get(name).show(check);
  }
  arrange(byId("checks"), sorted.map(([name]) => checks.get(name).element));
}

function makeCheck(name) {
  const [word, more] = [make("b"), make("small", { className: "soft" })];
  const element = make("li", {}, make("div", {}, t(name), word), more);
  element.dataset.check = name;
  const show = (check) => {
    element.dataset.mood = check.status === "up" ? "good" : "bad";
    say(word, t(check.status));
    const probed = check.probe && t(`probe_${check.probe}`, { time: relatively(-(check.probe_age_ms ?? 0)) });
    say(more, [check.required && t("required"), probed].filter(Boolean).join(" · "));
  };
  return { element, show };
}

function tick() {
  const wait = lasting(nextTry - Date.now());
  const time = seenAt && atClock(seenAt);
  const silence = silences && t(time ? "silent" : "silent_never", { time, wait });
  const banner = byId("banner");
  // A screen reader hears that the service is silent, not each second of it.
  banner.ariaLive = banner.hidden ? "assertive" : "off";
  sayOrHide(banner, silence || "");
  say(byId("seen"), time && !silences ? t("seen", { time }) : "");
  const refusing = systems.refusing();
  const mark = silences ? "✕ " : seenAt && refusing ? `■${refusing} ` : "";
  document.title = mark + t("title");
  if (seenAt === undefined) return;
  systems.tick();
  tasks.tick();
}

function begin() {
  document.documentElement.lang = lang;
  for (const element of document.querySelectorAll("[data-text]")) say(element, t(element.dataset.text));
  for (const element of document.querySelectorAll("[data-label]")) element.ariaLabel = t(element.dataset.label);
  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    token.set(byId("token").value.trim());
    byId("token").value = "";
    poll();
  });
  byId("forget").addEventListener("click", () => { token.forget(); poll(); });
  const wake = () => { if (!document.hidden && byId("login").hidden) poll(); };
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : wake()));
  addEventListener("online", wake);
  tasks.begin(poll);
  setInterval(() => { if (!document.hidden) tick(); }, 1_000);
  poll();
}

begin();
