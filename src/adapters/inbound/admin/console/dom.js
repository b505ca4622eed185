// Building the page. Whatever comes from outside becomes text, never markup: there is no other way
// in here, and the page's policy forbids any.

export const byId = (id) => document.getElementById(id);

/** An element with properties and children; a string child is text. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** Says `text`, and touches nothing when it is said already: a selection and a screen reader stay. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Says `text` and shows the element, or hides it when there is nothing to say. */
export function sayOrHide(element, text) {
  say(element, text ?? "");
  element.hidden = !text;
}

/** Puts `wanted` into `parent` in their order, moving only what stands elsewhere. */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) if (!keep.has(child)) child.remove();
  wanted.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
}
