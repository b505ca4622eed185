// What the page says: in Russian to whoever prefers it, in English to everybody else.

import en from "/console/en.js";
import ru from "/console/ru.js";

export const lang = (navigator.language ?? "").toLowerCase().startsWith("ru") ? "ru" : "en";
const words = lang === "ru" ? ru : en;

/** The sentence under `key`, with its gaps filled; a word that nobody translated is shown as it is. */
export function t(key, values = {}) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (gap, name) => values[name] ?? gap);
}

const whole = new Intl.NumberFormat(lang);
const share = new Intl.NumberFormat(lang, { style: "percent", maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat(lang, { timeStyle: "medium" });
const moment = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "long" });
const relative = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "short" });

export const number = (value) => whole.format(value);
export const percent = (value) => share.format(value);
/** A money object in its currency: `{amount: 19900, currency: "RUB"}` is 199 roubles. */
export const money = ({ amount, currency }) =>
  new Intl.NumberFormat(lang, { style: "currency", currency }).format(amount / 100);
export const atClock = (millis) => clock.format(millis);
export const exactly = (millis) => moment.format(millis);

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** "in 12 sec.", "3 min. ago"; `distance` in milliseconds, negative for the past. */
export function relatively(distance) {
  const seconds = Math.round(distance / 1_000);
  const [unit, size] = UNITS.find(([, of]) => Math.abs(seconds) >= of) ?? UNITS[3];
  return relative.format(Math.trunc(seconds / size), unit);
}

/** A length of time, in the two largest units: "14 min 5 s". */
export function lasting(millis) {
  const seconds = Math.max(0, Math.ceil(millis / 1_000));
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const format = (value, unit) =>
    new Intl.NumberFormat(lang, { style: "unit", unit, unitDisplay: "short" }).format(value);
  if (at < 0 || at === 3) return format(seconds, "second");
  const [[unit, size], [lower, part]] = [UNITS[at], UNITS[at + 1]];
  const rest = Math.floor((seconds % size) / part);
  return format(Math.floor(seconds / size), unit) + (rest ? ` ${format(rest, lower)}` : "");
}
