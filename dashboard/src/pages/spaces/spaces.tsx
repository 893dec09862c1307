// Spaces: which part of the board sees which?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useAction } from "../../data/action";
import { api, ask, type Space } from "../../data/api";
import { cache } from "../../data/cache";
import { spacesQuery } from "../../data/places";
import { Button } from "../../ui/button";
import { Loaded } from "../../ui/failure";
import { Icon } from "../../ui/icon";
import { useShortcuts } from "../../ui/keys";
import { useOpened } from "../../ui/opened";
import { SkeletonRows } from "../../ui/skeleton";
import { Title } from "../../ui/title";
import type { SpacesSearch } from "./address";
import { NewSpace, SpacePeek } from "./space";

export function Spaces() {
  const search = useSearch({ from: "/spaces" });
  const navigate = useNavigate({ from: "/spaces" });
  const set = (change: SpacesSearch, replace = false) => void navigate({ search: (before) => ({ ...before, ...change }), replace });
  useShortcuts([{ keys: "n", does: "New space", run: () => set({ new: "1" }) }]);
  return (
    <>
      <Title name="Spaces" actions={<Button weight="main" onClick={() => set({ new: "1" })}><Icon name="plus" className="size-4" />New space</Button>}>
        <p className="note mt-1">A row sees the columns that are marked: what is there can be found and shown from it.</p>
      </Title>
      <Loaded query={useQuery(spacesQuery())} waiting={<SkeletonRows count={4} />}>
        {({ rows: spaces }) => (
          <>
            <Matrix spaces={spaces} onOpen={(peek) => set({ peek })} />
            <Lists spaces={spaces} onOpen={(peek) => set({ peek })} />
            <Opened spaces={spaces} wanted={search.peek} onClose={(replace) => set({ peek: undefined }, replace)} />
            {search.new && <NewSpace onClose={() => set({ new: undefined })} onDone={(peek) => set({ new: undefined, peek })} />}
          </>
        )}
      </Loaded>
    </>
  );
}

function Opened({ spaces, wanted, onClose }: { spaces: Space[]; wanted: string | undefined; onClose: (replace?: boolean) => void }) {
  const open = useOpened(spaces, ({ id }, sought) => id === sought, { wanted, queryKey: ["spaces"], gone: "There is no such space any more.", forget: () => onClose(true) });
  return open && <SpacePeek key={open.id} space={open} spaces={spaces} onClose={() => onClose()} />;
}

type Change = { from: string; to: string; sees: boolean };

/** Let one space see another, or no longer. */
export function useConnecting() {
  return useAction({
    act: ({ from, to, sees }: Change) => ask(api.PATCH("/api/spaces/{id}/connectivity", { params: { path: { id: from } }, body: { connectivity: { [to]: sees } } })),
    failed: "The spaces were not connected anew",
    optimistic: {
      keys: () => [["spaces"]],
      change: ({ from, to, sees }) => cache.setQueryData<{ rows: Space[]; more: boolean }>(["spaces"], (page) => page && {
        ...page, rows: page.rows.map((space) => (space.id === from ? { ...space, connectivity: { ...space.connectivity, [to]: sees } } : space)),
      }),
    },
  });
}

function Matrix({ spaces, onOpen }: { spaces: Space[]; onOpen: (id: string) => void }) {
  const connect = useConnecting();
  return (
    <div className="overflow-x-auto py-4 max-md:hidden">
      <table aria-label="Which space sees which" className="border-collapse text-left">
        <thead>
          <tr className="border-b border-rule text-[0.8125rem] text-soft">
            <th className="py-2 pr-6 font-normal">From</th>
            {spaces.map(({ id, name }) => <th key={id} scope="col" className="max-w-32 min-w-24 px-2 py-2 text-center font-normal">{name}</th>)}
          </tr>
        </thead>
        <tbody>
          {spaces.map((from) => (
            <tr key={from.id} className="border-b border-rule hover:bg-green-wash/40">
              <th scope="row" className="py-1 pr-6 font-normal"><button type="button" data-row="" className="cursor-pointer rounded-md py-1.5 text-left hover:underline" onClick={() => onOpen(from.id)}><Dot color={from.color} />{from.name}</button></th>
              {spaces.map((to) => <td key={to.id} className="px-2 text-center">{from.id === to.id ? <span className="text-soft" aria-label="itself">·</span> : <Cell from={from} to={to} onChange={(sees) => connect.mutate({ from: from.id, to: to.id, sees })} />}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ from, to, onChange }: { from: Space; to: Space; onChange: (sees: boolean) => void }) {
  const sees = from.connectivity[to.id] ?? false;
  return (
    <button
      type="button" role="switch" aria-checked={sees} aria-label={`${from.name} sees ${to.name}`} onClick={() => onChange(!sees)}
      className="inline-grid size-8 cursor-pointer place-items-center rounded-md border border-rule text-transparent hover:border-green aria-checked:border-green aria-checked:bg-green aria-checked:text-on-green"
    >
      <Icon name="check" className="size-4" />
    </button>
  );
}

/** On a narrow window each row of the matrix is a list. */
function Lists({ spaces, onOpen }: { spaces: Space[]; onOpen: (id: string) => void }) {
  const connect = useConnecting();
  return (
    <div className="md:hidden">
      {spaces.map((from) => (
        <section key={from.id} aria-label={from.name} className="border-b border-rule py-4">
          <button type="button" className="cursor-pointer font-serif text-xl hover:underline" onClick={() => onOpen(from.id)}><Dot color={from.color} />{from.name}</button>
          <ul className="pt-1">
            {spaces.filter(({ id }) => id !== from.id).map((to) => (
              <li key={to.id} className="flex items-center justify-between gap-3 py-1">{to.name}<Cell from={from} to={to} onChange={(sees) => connect.mutate({ from: from.id, to: to.id, sees })} /></li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

// A colour that is not one would end in the style as it is written; the browser takes only the forms of a colour.
const COLOR = /^#[0-9a-f]{3,8}$/i;

export function Dot({ color }: { color: string | null }) {
  if (color === null || !COLOR.test(color)) return null;
  return <span aria-hidden="true" className="mr-2 inline-block size-2.5 rounded-full" style={{ backgroundColor: color }} />;
}
