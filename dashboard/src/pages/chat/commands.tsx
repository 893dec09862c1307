// The menu of slash commands: what can be typed next, from the server's own list.

import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../../data/api";

export type Suggestion = { id: string; label: string; about: string; completed: string };

const commandsQuery = {
  queryKey: ["commands"],
  queryFn: () => ask(api.GET("/api/commands")),
};

/** Return what completes the text: the names of commands, then the words that one takes. */
export function useSuggestions(text: string): Suggestion[] {
  const asked = text.startsWith("/") && !text.includes("\n");
  const { data } = useQuery({ ...commandsQuery, enabled: asked });
  if (!asked || data === undefined) return [];
  const [name = "", word, ...more] = text.slice(1).split(" ");
  if (word === undefined) {
    const found = data.commands.filter((command) => command.name.startsWith(name.toLowerCase()));
    return found.map(({ name: full, usage, effect }) => ({ id: full, label: usage, about: effect, completed: `/${full}${usage.includes(" ") ? " " : ""}` }));
  }
  const command = data.commands.find((each) => each.name === name);
  if (command === undefined || more.length > 0) return [];
  const words = wordsOf(command.usage).filter((each) => each.startsWith(word) && each !== word);
  return words.map((each) => ({ id: each, label: `/${name} ${each}`, about: command.effect, completed: `/${name} ${each}` }));
}

/** Return the words that may stand behind a command, by how it is written: "/plan [on|off]" takes "on" and "off". */
function wordsOf(usage: string): string[] {
  const [, ...rest] = usage.split(" ");
  return [...new Set(rest.join(" ").split(/[\s|[\]]+/).filter((word) => /^[a-z]+$/.test(word)))];
}

type Props = { suggestions: Suggestion[]; chosen: number; onPick: (suggestion: Suggestion) => void };

export function SuggestionList({ suggestions, chosen, onPick }: Props) {
  if (suggestions.length === 0) return null;
  return (
    <ul id="suggestions" role="listbox" aria-label="Commands" className="absolute bottom-full left-0 z-20 mb-1.5 max-h-72 w-full max-w-[40rem] overflow-y-auto rounded-lg border border-rule bg-leaf p-1 shadow-leaf">
      {suggestions.map((each, i) => (
        <li
          key={each.id} id={`suggestion-${i}`} role="option" aria-selected={i === chosen}
          ref={(row) => { if (i === chosen) row?.scrollIntoView({ block: "nearest" }); }}
          onPointerDown={(event) => { event.preventDefault(); onPick(each); }}
          className="flex flex-wrap items-baseline justify-between gap-x-4 rounded-md px-2.5 py-1 aria-selected:bg-green-wash"
        >
          <span className="font-mono text-[0.8125rem]">{each.label}</span><span className="note">{each.about}</span>
        </li>
      ))}
    </ul>
  );
}
