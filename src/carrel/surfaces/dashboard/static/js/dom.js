// Build and update elements. Strings become text nodes; nothing here parses markup, so agents' output stays text.

/** Create an element; `on` holds listeners, attributes that are null, undefined or false are left out. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Create an SVG element. */
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

/** Set the text only if it differs, so that selections and screen readers are not disturbed. */
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
 * Keep one row per key in `parent`, in the order of `items`. `make(item)` returns `{element, update(item), gone?()}`.
 * A row lives as long as its key, so focus, open details and half-written answers survive a refresh.
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
  let next = parent.firstChild;
  for (const row of rows.values()) {
    if (row.element === next) next = next.nextSibling;
    else parent.insertBefore(row.element, next);
  }
  rowsOf.set(parent, rows);
  if (focused !== null && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

let counted = 0;

/** Return an id that is unique in the page. */
export function freshId(prefix) {
  counted += 1;
  return `${prefix}-${counted}`;
}
