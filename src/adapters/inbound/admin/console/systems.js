// The systems outside: how the guards before each stand, and the switches of its breaker.

import { ask } from "/console/client.js";
import * as dialog from "/console/dialog.js";
import { arrange, byId, make, say } from "/console/dom.js";
import { lasting, number, percent, t } from "/console/words.js";

const MODES = ["enforce", "forced_open", "forced_closed", "dry_run", "off"];
const FORCED = ["forced_open", "forced_closed"];
// Every other one is a payment system.
const READS = ["catalog", "recommendations"];
const GLYPHS = { good: "●", bad: "■", fair: "▲", idle: "○" };

const cards = new Map();

/** What the breaker does to a call now: its words, and how an operator should feel about it. */
function verdict({ state, mode }, left) {
  if (FORCED.includes(mode) || mode === "off") {
    const mood = { forced_open: "bad", forced_closed: "fair", off: "idle" }[mode];
    return { mood, state: t(`state_${mode}`), means: t(`means_${mode}`), own: state };
  }
  if (mode === "dry_run") {
    return { mood: state === "closed" ? "idle" : "fair", state: t(`dry_${state}`), means: t("means_dry") };
  }
  const mood = { closed: "good", open: "bad", half_open: "fair" }[state];
  const waits = state === "open" && left <= 0 ? "means_open_due" : `means_${state}`;
  return { mood, state: t(`state_${state}`), means: t(waits, { wait: lasting(left) }) };
}

class Card {
  constructor(name, changed) {
    Object.assign(this, { name, changed });
    this.glyph = make("span", { className: "glyph", ariaHidden: "true" });
    [this.state, this.means, this.mode, this.more] = ["strong", "p", "span", "p"].map((tag) => make(tag));
    this.mode.className = "mode";
    this.means.className = "means";
    this.more.className = "more soft";
    this.fill = make("i");
    this.limit = make("b");
    this.gauge = make("div", { className: "gauge", ariaHidden: "true" }, this.fill, this.limit);
    this.opens = make("small", { className: "soft" });
    this.values = {};
    const rows = ["calls", "failures", "slow", "in_flight", "waiting", "rejected"].map((key) => {
      this.values[key] = make("dd");
      return make("div", {}, make("dt", {}, t(key)), this.values[key]);
    });
    const button = (key, opens) => {
      const made = make("button", { type: "button", ariaLabel: `${name}: ${t(key)}` }, t(key));
      made.dataset.action = key;
      made.addEventListener("click", opens);
      return made;
    };
    this.element = make("article", { className: "card", ariaLabel: name },
      make("h3", {}, name, this.mode),
      make("p", { className: "verdict" }, this.glyph, this.state),
      this.means, this.more,
      this.gauge, this.opens,
      make("dl", {}, ...rows),
      make("footer", {},
        button("switch_mode", () => this.switchMode()), button("reset", () => this.reset())));
    this.element.dataset.system = name;
  }

  show(view) {
    this.view = view;
    const now = performance.now();
    this.probesAt = now + view.breaker.retry_after_ms;
    const ends = view.breaker.mode_ends_in_ms;
    this.endsAt = ends === null || ends === undefined ? undefined : now + ends;
    const { window } = view.breaker;
    const { bulkhead, config } = view;
    const limit = Number(config.CB_FAILURE_RATE);
    const rate = window.failure_rate;
    this.fill.style.setProperty("--share", rate);
    this.limit.style.setProperty("--share", limit || 0);
    this.limit.hidden = !limit;
    this.gauge.classList.toggle("over", limit > 0 && rate >= limit);
    say(this.opens, limit ? t("opens_at", { limit: percent(limit), least: config.CB_MIN_REQUESTS }) : "");
    say(this.values.calls, number(window.calls));
    say(this.values.failures, window.calls ? percent(rate) : "–");
    say(this.values.slow, number(window.slow));
    const places = { part: number(bulkhead.in_flight), whole: number(bulkhead.max_concurrent) };
    say(this.values.in_flight, t("of", places));
    say(this.values.waiting, number(bulkhead.waiting));
    say(this.values.rejected, number(bulkhead.rejected_total));
    this.tick();
  }

  /** Between two answers only the time goes on. */
  tick() {
    const now = performance.now();
    const { breaker, config } = this.view;
    const { mood, state, means, own } = verdict(breaker, this.probesAt - now);
    this.element.dataset.mood = mood;
    say(this.glyph, GLYPHS[mood]);
    say(this.state, state);
    say(this.means, means);
    const configured = config.CB_MODE ?? "enforce";
    const mode = { mode: breaker.mode, configured, wait: lasting(this.endsAt - now) };
    const lines = [];
    if (this.endsAt !== undefined) lines.push(t("ends_in", mode));
    else if (breaker.mode !== configured) lines.push(t("lasts", mode));
    if (own) lines.push(t("machine", { state: t(`state_${own}`) }));
    say(this.mode, breaker.mode);
    say(this.more, lines.join(" "));
    this.tell(state, means);
  }

  /** A change of state is said aloud, once. */
  tell(state, means) {
    if (this.told !== undefined && this.told !== state) {
      say(byId("news"), t("news", { system: this.name, state, means }));
    }
    this.told = state;
  }

  switchMode() {
    const { breaker, config } = this.view;
    const other = breaker.mode === "enforce" ? "forced_open" : "enforce";
    const mode = dialog.choice(MODES.map((word) => [word, word]), other);
    const ttl = dialog.text({ pattern: "\\s*[0-9][0-9a-z ]*", maxLength: 20, value: FORCED.includes(other) ? "15m" : "" });
    mode.addEventListener("change", () => { ttl.value = FORCED.includes(mode.value) ? "15m" : ""; });
    dialog.open({
      title: t("switch_title", { system: this.name }),
      body: [
        dialog.field("mode", t("mode"), mode),
        dialog.field("ttl", t("ttl"), ttl, t("ttl_hint")),
        dialog.reason(true),
      ],
      effect: (values) => this.effect(values, config.CB_MODE),
      danger: (values) => values.mode !== "enforce" && values.mode !== "dry_run",
      verb: t("switch_do"),
      act: async ({ mode, ttl, reason }) => {
        const body = { mode, reason: reason.trim() };
        if (ttl.trim()) body.ttl = ttl.trim();
        this.show(await ask("PUT", `/admin/systems/${this.name}/breaker`, body));
        this.changed();
        dialog.toast(t("done_mode", { system: this.name, mode }));
      },
    });
  }

  effect({ mode, ttl }, configured) {
    const lasts = ttl.trim() || (FORCED.includes(mode) ? "15m" : "");
    const kind = READS.includes(this.name) ? this.name : "payment";
    const what = mode === "forced_open"
      ? t(`effect_forced_open_${kind}`, { system: this.name })
      : t(`effect_${mode}`);
    const long = t(lasts ? "ttl_forced" : "ttl_open", { mode, ttl: lasts, configured });
    return [what, long, t("this_instance")].join(" ");
  }

  reset() {
    dialog.open({
      title: t("reset_title", { system: this.name }),
      body: [dialog.reason(false)],
      effect: () => [t("reset_effect", { least: this.view.config.CB_MIN_REQUESTS }), t("this_instance")].join(" "),
      verb: t("reset_do"),
      act: async ({ reason }) => {
        const body = reason.trim() ? { reason: reason.trim() } : undefined;
        this.show(await ask("POST", `/admin/systems/${this.name}/breaker/reset`, body));
        this.changed();
        dialog.toast(t("done_reset", { system: this.name }));
      },
    });
  }
}

/** Draws them; `changed` is called after a switch was turned. */
export function show(systems, changed) {
  for (const view of systems) {
    if (!cards.has(view.system)) cards.set(view.system, new Card(view.system, changed));
    cards.get(view.system).show(view);
  }
  arrange(byId("systems"), systems.map((view) => cards.get(view.system).element));
}

export const tick = () => cards.forEach((card) => card.tick());

/** How many refuse calls: for the window's title. */
export const refusing = () =>
  [...cards.values()].filter((card) => card.element.dataset.mood === "bad").length;
