// Reading what an address says: every value is text, and a wrong one counts as absent.

export type Raw = Record<string, unknown>;

export const textIn = (raw: Raw, name: string): string | undefined => (raw[name] === undefined || raw[name] === "" ? undefined : String(raw[name]));

export function oneOf<Word extends string>(raw: Raw, name: string, words: readonly Word[]): Word | undefined {
  return words.find((word) => word === raw[name]);
}
