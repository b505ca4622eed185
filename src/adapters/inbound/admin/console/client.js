// Asking the service: with the operator's token, in the reader's language, and not for ever.

import { lang, t } from "/console/words.js";

const PATIENCE_MS = 8_000;
const STORE = "admin-token";
/** Anything else cannot be sent in a header, so it cannot be right. */
const VISIBLE = /^[\x21-\x7e]+$/;

/** The service answered, and the answer is no. */
export class Refused extends Error {
  constructor(status, problem) {
    const inner = (problem.errors ?? []).map((error) => `${error.pointer.slice(1)} ${error.detail}`);
    super([problem.detail ?? `HTTP ${status}`, ...inner].join(" "));
    this.status = status;
    this.trace = problem.trace_id;
  }
}

/** No answer came. */
export class Silent extends Error {}

/** The words for a failure, whatever it is. */
export function told(error) {
  if (error instanceof Silent) return t("silent_now");
  return error.trace ? `${error.message} (${error.trace})` : error.message;
}

/** ADMIN_TOKEN, for as long as this tab is open. */
export const token = {
  kept: null,
  get() {
    try { return sessionStorage.getItem(STORE) ?? this.kept; } catch { return this.kept; }
  },
  set(value) {
    this.kept = value;
    try { sessionStorage.setItem(STORE, value); } catch { /* then this page alone remembers it */ }
  },
  forget() {
    this.kept = null;
    try { sessionStorage.removeItem(STORE); } catch { /* nothing was kept */ }
  },
};

let ahead = 0;

/** The service's clock, as far as its answers tell: the reader's own may be wrong. */
export const serverNow = () => Date.now() + ahead;

function readClock(response) {
  const told = Date.parse(response.headers.get("Date") ?? "");
  const distance = told + 500 - Date.now();
  ahead = Math.abs(distance) > 2_000 ? distance : 0;
}

async function send(method, path, body) {
  const headers = { "Accept-Language": lang };
  const secret = token.get();
  if (secret && !VISIBLE.test(secret)) throw new Refused(401, {});
  if (secret) headers.Authorization = `Bearer ${secret}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = {
    method, headers, cache: "no-store", redirect: "error", credentials: "omit",
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  };
  try {
    const response = await fetch(path, options);
    readClock(response);
    return { response, text: await response.text() };
  } catch {
    throw new Silent();
  }
}

/** The JSON of an answer. `fine` are statuses beyond 2xx whose body is the answer, too. */
export async function ask(method, path, body, fine = []) {
  const { response, text } = await send(method, path, body);
  let value;
  try { value = JSON.parse(text); } catch { throw new Refused(response.status, {}); }
  if (response.ok || fine.includes(response.status)) return value;
  throw new Refused(response.status, value ?? {});
}

/** How many tasks stand in each status, from the service's own metrics. */
export async function countTasks() {
  const { response, text } = await send("GET", "/metrics");
  if (!response.ok) throw new Refused(response.status, {});
  const counts = {};
  for (const [, status, count] of text.matchAll(/^tasks\{[^}]*status="(\w+)"[^}]*\} (\d+)$/gm)) {
    counts[status] = (counts[status] ?? 0) + Number(count);
  }
  return counts;
}
