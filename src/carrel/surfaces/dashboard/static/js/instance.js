// Which browser this is, so that the server can remember the chat it had open. It is a name, not a key to anything.

const PLACE = "carrel.instance";

/** Give this browser's name, made at first use; without storage it lasts as long as the page. */
export function instanceId() {
  try {
    const kept = localStorage.getItem(PLACE);
    if (kept) return kept;
    localStorage.setItem(PLACE, passing);
  } catch {
    // A browser that keeps nothing still chats: it is a new one each time.
  }
  return passing;
}

/** Give an id nobody else has made. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const passing = randomId();
