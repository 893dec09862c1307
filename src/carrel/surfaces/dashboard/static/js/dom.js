// Build and reconcile elements. Text always becomes text nodes: nothing here parses markup, so what agents say stays text.

/** Make an element; `on` holds listeners, null, undefined and false attributes are left out, strings become text. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value === true ? "" : value)) {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Write text only when it differs, so that a selection and a screen reader are left in peace. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Replace children only when the node lists differ. */
export function setChildren(element, ...children) {
  const wanted = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  const same = wanted.length === element.childNodes.length && wanted.every((child, i) => child === element.childNodes[i]);
  if (!same) element.replaceChildren(...wanted);
}

const rowsOf = new WeakMap();

/**
 * Keep one row per key in `parent`, in the order of `items`. `make(item)` gives `{element, update(item), gone?()}`;
 * rows live on while their key does, so focus, open details and half-written answers survive every re-read.
 */
export function keyed(parent, items, keyOf, make) {
  const before = rowsOf.get(parent) ?? new Map();
  const rows = new Map();
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  for (const item of items) {
    const key = keyOf(item);
    const row = before.get(key) ?? make(item);
    row.update(item);
    rows.set(key, row);
  }
  for (const [key, row] of before) {
    if (rows.has(key)) continue;
    row.element.remove();
    row.gone?.();
  }
  let place = parent.firstChild;
  for (const row of rows.values()) {
    if (row.element === place) place = place.nextSibling;
    else parent.insertBefore(row.element, place);
  }
  rowsOf.set(parent, rows);
  if (focused !== null && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

let counted = 0;

/** Give an id no other element of the page has. */
export function freshId(prefix) {
  counted += 1;
  return `${prefix}-${counted}`;
}
