// A question before something that cannot be undone.

import { Button } from "./button";
import { Dialog } from "./dialog";

type Props = { title: string; about: string; does: string; onDo: () => void; onClose: () => void };

export function Confirm({ title, about, does, onDo, onClose }: Props) {
  return (
    <Dialog open title={title} about={about} onClose={onClose}>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button weight="danger" onClick={() => { onClose(); onDo(); }}>{does}</Button>
      </div>
    </Dialog>
  );
}
