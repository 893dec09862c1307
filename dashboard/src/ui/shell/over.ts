// What opens over every page.

export { Palette } from "./palette";
export { ShortcutsDialog } from "./shortcuts";
