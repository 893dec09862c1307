"""Measurements taken inside the page."""

# Texts with too little contrast: below 4.5 to 1, or 3 to 1 for large text (WCAG AA).
FAINT_TEXT = """() => {
  const channels = (colour) => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return { r, g, b, a: a / 255 };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a), a: 1,
  });
  const behind = (element) => {
    const layers = [];
    for (let at = element; at !== null; at = at.parentElement) {
      const layer = channels(getComputedStyle(at).backgroundColor);
      layers.push(layer);
      if (layer.a === 1) break;
    }
    return layers.reduceRight((below, layer) => over(layer, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const light = ({ r, g, b }) => [r, g, b]
    .map((value) => value / 255)
    .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const faint = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
    if (!own || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest('.sr, noscript') !== null) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    let opacity = 1;
    for (let at = element; at !== null; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    const ink = channels(style.color);
    const [high, low] = [light(over({ ...ink, a: ink.a * opacity }, ground)), light(ground)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}"""

# Controls without an accessible name.
NAMELESS_CONTROLS = """() => [
  ...document.querySelectorAll('a, button, input, textarea, select, summary, [role=img], [role=log]'),
]
  .filter((element) => element.checkVisibility())
  .filter((element) => {
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join('');
    const text = ['INPUT', 'TEXTAREA', 'SELECT'].includes(element.tagName) ? '' : element.textContent;
    return (element.getAttribute('aria-label') || labels || text).trim() === '';
  })
  .map((element) => element.outerHTML.slice(0, 120))"""

# The focused element, and whether its focus is visible.
FOCUS = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const name = at.ariaLabel ?? at.labels?.[0]?.textContent ?? at.textContent;
  return { text: at.textContent.trim(), name: name.trim(), seen, markup: at.outerHTML.slice(0, 200) };
}"""
