// An id for this browser, so that the server can remember its open chat. It grants no access.

const STORAGE_KEY = "carrel.instance";

/** Return a random id. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const fallback = randomId();

/** Return this browser's id, created on first use; without storage it lasts as long as the page. */
export function instanceId(): string {
  try {
    const kept = localStorage.getItem(STORAGE_KEY);
    if (kept) return kept;
    localStorage.setItem(STORAGE_KEY, fallback);
  } catch {
    // Without storage the chat still works; the browser counts as a new one each time.
  }
  return fallback;
}
