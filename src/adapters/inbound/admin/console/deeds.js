// What an operator may do about a task, and what follows from it. The service judges once more: what
// it refuses is told in the dialog.

import { ask, told } from "/console/client.js";
import * as dialog from "/console/dialog.js";
import { make } from "/console/dom.js";
import { money, t } from "/console/words.js";

/** The deeds that make sense for a task as it stands. */
export function mayDo({ kind, status, reason }) {
  const deeds = [];
  if (status === "queued") deeds.push(reason === "operator" ? "release" : "retry");
  // What may have been executed is not given up but found out.
  const unknown = reason === "outcome_unknown";
  const given = ["register_payment", "refund_payment"].includes(kind) && !unknown;
  if (status === "queued" && given) deeds.push("cancel");
  const doubtful = status === "review" || unknown;
  if (doubtful && kind !== "refund_payment") deeds.push("resolve");
  return deeds;
}

function deed(task, verb, changed, known = {}) {
  return async ({ reason, ...values }) => {
    const word = { ...known, ...values };
    if (reason.trim()) word.reason = reason.trim();
    const body = Object.keys(word).length ? word : undefined;
    await ask("POST", `/admin/tasks/${task.task_id}/${verb}`, body);
    changed();
    dialog.toast(t(`done_${verb}`, names(task)));
  };
}

const names = (task) => ({ task: task.task_id, order: task.order_id });

/** The registration that a finding is about: the one that may be alive. The number goes along, so that an
 * order which has moved on refuses it. */
async function doubtful(task) {
  const alive = ["intent", "unknown", "live", "paid"];
  const order = await ask("GET", `/admin/orders/${task.order_id}`);
  return order.registrations.find(({ state }) => alive.includes(state));
}

const OPEN = {
  retry(task, changed) {
    dialog.open({
      title: t("retry_title", names(task)),
      body: [dialog.reason(false)],
      effect: () => t("retry_effect", names(task)),
      verb: t("retry_do"),
      act: deed(task, "retry", changed),
    });
  },

  release(task, changed) {
    dialog.open({
      title: t("release_title", names(task)),
      body: [dialog.reason(true)],
      effect: () => t(task.kind === "refund_payment" ? "release_effect" : "retry_effect", names(task)),
      danger: () => true,
      verb: t("release_do"),
      act: deed(task, "retry", changed),
    });
  },

  cancel(task, changed) {
    dialog.open({
      title: t("cancel_title", names(task)),
      body: [dialog.reason(true)],
      effect: () => t(`cancel_effect_${task.kind}`, names(task)),
      danger: () => true,
      verb: t("cancel_do"),
      act: deed(task, "cancel", changed),
    });
  },

  async resolve(task, changed) {
    const findings = ["executed", "not_executed"];
    const options = findings.map((finding) => [finding, t(`finding_${finding}`)]);
    const open = await doubtful(task);
    dialog.open({
      title: t("resolve_title", names(task)),
      body: [
        make("p", {}, t("resolve_why")),
        open && make("p", { className: "number" }, t("resolve_number", { ...open, amount: money(open.amount) })),
        dialog.field("finding", t("finding"), dialog.choice(options, "executed")),
        dialog.reason(true),
      ],
      effect: ({ finding }) => t(`resolve_effect_${finding}`, names(task)),
      danger: ({ finding }) => finding === "not_executed",
      verb: t("resolve_do"),
      act: deed(task, "resolve", changed, open && { number: open.number }),
    });
  },
};

/** Asks for a reason and does it; `changed` is called when it is done. */
export async function act(name, task, changed) {
  try {
    await OPEN[name](task, changed);
  } catch (error) {
    dialog.toast(told(error));
  }
}
