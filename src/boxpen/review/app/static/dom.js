/* Elements are built here, and only here: texts become text nodes, never markup. */

export const $ = (id) => document.getElementById(id);

/** Return a new element. Attributes: null and false are left out, functions listen to events. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * Make the children of an element equal to new ones, and touch only what differs: focus, selection,
 * scroll positions and opened details stay as they are. Elements with `data-key` are kept by it.
 */
export function patch(element, children) {
  const wanted = children.flat(Infinity).filter((child) => child !== null && child !== undefined);
  const keyed = new Map();
  for (const child of element.children) if (child.dataset?.key) keyed.set(child.dataset.key, child);
  let place = element.firstChild;
  for (const next of wanted) {
    const node = next instanceof Node ? next : document.createTextNode(next);
    const key = node.dataset?.key;
    const kept = key ? keyed.get(key) : place && !place.dataset?.key && sameKind(place, node) ? place : null;
    if (!kept) {
      element.insertBefore(node, place);
      continue;
    }
    if (kept === place) place = place.nextSibling;
    else element.insertBefore(kept, place);
    update(kept, node);
  }
  while (place) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

function sameKind(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName;
}

function update(kept, node) {
  if (kept.nodeType === Node.TEXT_NODE) {
    if (kept.data !== node.data) kept.data = node.data;
    return;
  }
  for (const { name } of [...kept.attributes]) {
    if (!node.hasAttribute(name) && name !== "open") kept.removeAttribute(name);
  }
  for (const { name, value } of node.attributes) {
    if (kept.getAttribute(name) !== value) kept.setAttribute(name, value);
  }
  patch(kept, [...node.childNodes]);
}

/** "1 answer", "3 answers". */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
