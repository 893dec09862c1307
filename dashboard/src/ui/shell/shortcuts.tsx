// The dialog behind `?`: every key that works on this page.

import { Dialog } from "../dialog";
import { currentShortcuts } from "../keys";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

export function ShortcutsDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  const listed = open ? currentShortcuts().filter((each) => each.does !== undefined) : [];
  return (
    <Dialog title="Keyboard shortcuts" open={open} onClose={onClose}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-6 gap-y-1.5">
        {listed.map(({ keys, does }) => (
          <div key={`${keys}/${does}`} className="contents">
            <dt className="flex gap-1">{keys.split(" ").map((key) => <kbd key={key} className="kbd">{nameOf(key)}</kbd>)}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function nameOf(key: string): string {
  return key.replace("mod+", IS_MAC ? "⌘ " : "Ctrl ");
}
