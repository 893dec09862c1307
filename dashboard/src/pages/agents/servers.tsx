// Which MCP servers an agent uses, of those that are open to the account.

import { useQuery } from "@tanstack/react-query";
import { mcpServersQuery } from "../../data/queries";
import { plural } from "../../data/words";
import { Check } from "../../ui/form";

type Props = { chosen: string[]; complaint?: string; onChange: (chosen: string[]) => void };

export function ServerChoice({ chosen, complaint, onChange }: Props) {
  const servers = useQuery(mcpServersQuery()).data?.servers ?? [];
  // One that is no longer open to the account stays, to be taken away.
  const gone = chosen.filter((name) => !servers.some((server) => server.name === name)).map((name) => ({ name, about: "not open to this account any more" }));
  const rows = [...servers.map(({ name, offered, status }) => ({ name, about: status === "failed" ? "does not work now" : offered.length > 0 ? plural(offered.length, "tool") : "" })), ...gone];
  if (rows.length === 0) return null;
  return (
    <fieldset className="sm:col-span-2">
      <legend className="text-[0.8125rem] font-medium">MCP servers whose tools it gets</legend>
      <div className="mt-1 flex flex-wrap gap-x-5 gap-y-1">
        {rows.map(({ name, about }) => (
          <Check
            key={name} label={name} hint={about || undefined} checked={chosen.includes(name)}
            onChange={(event) => onChange(event.target.checked ? [...chosen, name] : chosen.filter((each) => each !== name))}
          />
        ))}
      </div>
      {complaint && <p role="alert" className="complaint">{complaint}</p>}
    </fieldset>
  );
}
