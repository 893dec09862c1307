// What the address of a context says: which step, compared with what, what is open, and what is asked in its place.

export type ContextSearch = {
  step?: number;
  /** The id of another run to compare with. */
  with?: string;
  /** The source that is open beside the page. */
  item?: string;
  /** "1" while something else is asked; the following say what. */
  ask?: "1";
  q?: string;
  depth?: string;
  recall?: "own" | "space";
  size?: number;
};

const text = (value: unknown): string | undefined => (value === undefined || value === "" ? undefined : String(value));

function count(value: unknown): number | undefined {
  const number = Number(value);
  return value !== undefined && Number.isInteger(number) && number > 0 ? number : undefined;
}

export const contextSearch = (raw: Record<string, unknown>): ContextSearch => ({
  step: count(raw["step"]),
  with: text(raw["with"]),
  item: text(raw["item"]),
  ask: raw["ask"] === undefined ? undefined : "1",
  q: text(raw["q"]),
  depth: text(raw["depth"]),
  recall: raw["recall"] === "own" || raw["recall"] === "space" ? raw["recall"] : undefined,
  size: count(raw["size"]),
});
