// Chat: one session at a time.

import { Title } from "../../ui/title";

export function NewChat() {
  return <Title name="Chat" />;
}

export function Chat() {
  return <Title name="Chat" />;
}
