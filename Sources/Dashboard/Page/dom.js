// Elements as values. `h` describes an element; `patch` brings a parent's children to a
// description and changes only what differs, so that focus, scroll and typed text stay.

const DESCRIPTION = Symbol("description");
// JSON has no symbols: data of the server never becomes an element.
const ELEMENT = Symbol("element");
const SVG = "http://www.w3.org/2000/svg";

/**
 * Describes an element.
 *
 * Attributes: `key` names it among its siblings; `on…` is a handler; `--x` is a CSS variable;
 * `value` and `checked` are set only when the description changes, never over what was typed.
 * Children: descriptions, texts, numbers and lists of them. An absent child (null, false) keeps
 * its position, so that the siblings behind it are not mistaken for it.
 */
export function h(tag, attributes, ...children) {
  const { key = null, ...rest } = attributes ?? {};
  return {
    [ELEMENT]: true, tag, key, attributes: rest, children: children.flat(Infinity).map(child) };
}

export const isElement = (value) => value?.[ELEMENT] === true;

function child(value) {
  if (value == null || value === false) return "";
  if (isElement(value)) return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function patch(parent, children) {
  const focused = document.activeElement;
  reconcile(parent, [children].flat(Infinity).map(child));
  // Older browsers drop the focus of an element that moves.
  if (focused !== document.activeElement && focused?.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

function reconcile(parent, wanted) {
  const named = new Map();
  const unnamed = [];
  for (const node of parent.childNodes) {
    const key = node[DESCRIPTION]?.key ?? null;
    if (key === null) unnamed.push(node);
    else named.set(key, node);
  }
  let position = 0;
  const nodes = wanted.map((description) => {
    const key = description.key ?? null;
    const old = key === null ? unnamed[position++] : named.get(key);
    if (!old || !fits(old, description)) return create(description, parent);
    // A second child of the same key is made again.
    named.delete(key);
    update(old, description);
    return old;
  });
  const stay = new Set(nodes);
  for (const node of [...parent.childNodes]) if (!stay.has(node)) node.remove();
  let next = parent.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else if (node.parentNode === parent && parent.moveBefore) parent.moveBefore(node, next);
    else parent.insertBefore(node, next);
  }
}

function fits(node, description) {
  if (typeof description === "string") return node.nodeType === Node.TEXT_NODE;
  return node[DESCRIPTION]?.tag === description.tag;
}

function create(description, parent) {
  if (typeof description === "string") return document.createTextNode(description);
  const isSVG = description.tag === "svg" || parent.namespaceURI === SVG;
  const node = isSVG
    ? document.createElementNS(SVG, description.tag)
    : document.createElement(description.tag);
  update(node, description);
  return node;
}

function update(node, description) {
  if (typeof description === "string") {
    if (node.data !== description) node.data = description;
    return;
  }
  const old = node[DESCRIPTION];
  if (old === description) return;
  node[DESCRIPTION] = description;
  const before = old?.attributes ?? {};
  // Children first: a select takes its value from the options that it has.
  reconcile(node, description.children);
  for (const name of Object.keys(before)) {
    if (!(name in description.attributes)) set(node, name, null);
  }
  for (const [name, value] of Object.entries(description.attributes)) {
    if (before[name] !== value) set(node, name, value);
  }
}

function set(node, name, value) {
  if (name.startsWith("on")) node[name] = value ?? null;
  else if (name.startsWith("--")) node.style.setProperty(name, value ?? "");
  else if (name === "value" || name === "checked") node[name] = value ?? "";
  else if (value == null || value === false) node.removeAttribute(name);
  else node.setAttribute(name, value === true ? "" : value);
}

let draw = () => {};
let isDrawing = false;

/** Says what draws the page. */
export function drawWith(function_) {
  draw = function_;
}

/** Draws the page at the next frame; a hidden page has none. */
export function redraw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    draw();
  });
}

/** Has a screen reader say a sentence, after what it says now. */
export function say(sentence) {
  document.getElementById("said").textContent = sentence;
}
