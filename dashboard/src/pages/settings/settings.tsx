// Settings: what is set, and where does each value come from?

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import { useAction } from "../../data/action";
import { api, ask, Refusal, type Shapes } from "../../data/api";
import { settingsQuery } from "../../data/standing";
import { plural } from "../../data/words";
import { Button } from "../../ui/button";
import { Empty } from "../../ui/empty";
import { ErrorState } from "../../ui/failure";
import { Options } from "../../ui/form";
import { Highlight } from "../../ui/highlight";
import { Copy } from "../../ui/ident";
import { Seek } from "../../ui/seek";
import { SkeletonRows } from "../../ui/skeleton";
import { type Column, Table } from "../../ui/table";
import { Title } from "../../ui/title";
import { toast } from "../../ui/toast";
import { AccountSection } from "./account";
import { ORIGINS, type SettingsSearch } from "./address";

type Setting = Shapes["SettingRow"];

const SOURCES: Record<Setting["source"], string> = { default: "Default", file: "File", env: "Environment" };

export function Settings() {
  return (
    <>
      <Title name="Settings" />
      <AccountSection />
      <Server />
    </>
  );
}

function Server() {
  const search = useSearch({ from: "/settings" });
  const navigate = useNavigate({ from: "/settings" });
  const set = useCallback((change: SettingsSearch) => void navigate({ search: (before) => ({ ...before, ...change }), replace: "q" in change }), [navigate]);
  const seek = useCallback((q: string) => set({ q: q.trim() || undefined }), [set]);
  const read = useQuery(settingsQuery);
  const reload = useAction({
    act: () => ask(api.POST("/api/settings/reload")),
    failed: "The settings were not read again",
    stale: () => [["settings"], ["health"]],
    done: ({ changed, needRestart }) => toast({ text: wordsOf(changed, needRestart) }),
  });
  if (read.isError) {
    if (read.error instanceof Refusal && read.error.status === 403) return <section aria-label="Server" className="py-4"><h2 className="text-xl">Server</h2><p className="note py-2">Only the owner of the account “default”, who runs the server, sees its settings.</p></section>;
    return <ErrorState error={read.error} retry={() => void read.refetch()} />;
  }
  return (
    <section aria-label="Server" className="py-4">
      <div className="flex flex-wrap items-center justify-between gap-3 pb-3">
        <div className="min-w-0">
          <h2 className="text-xl">Server</h2>
          {read.data && <p className="note flex min-w-0 items-center gap-1">Read from <code className="truncate">{read.data.file}</code><Copy text={read.data.file} name="Copy the path" /></p>}
        </div>
        <Button busy={reload.isPending} onClick={() => reload.mutate()}>{reload.isPending ? "Reading…" : "Reload"}</Button>
      </div>
      <div className="flex flex-wrap items-center gap-3 pb-2">
        <div className="min-w-52 flex-1"><Seek name="Find a setting" value={search.q ?? ""} onSeek={seek} /></div>
        <Options
          name="Where it comes from" value={search.origin ?? ""} onChange={(next) => set({ origin: ORIGINS.find((each) => each === next) })}
          options={[{ value: "", label: "All" }, { value: "changed", label: "Changed" }, { value: "file", label: "File" }, { value: "env", label: "Environment" }]}
        />
      </div>
      {read.data ? <Rows settings={read.data.settings} search={search} /> : <SkeletonRows />}
    </section>
  );
}

function wordsOf(changed: string[], needRestart: string[]): string {
  const said = [changed.length > 0 && `Taken up: ${changed.join(", ")}.`, needRestart.length > 0 && `After a restart: ${needRestart.join(", ")}.`].filter(Boolean);
  return said.join(" ") || "Nothing has changed.";
}

function Rows({ settings, search: { q = "", origin } }: { settings: Setting[]; search: SettingsSearch }) {
  const shown = settings.filter(({ name, source }) => name.includes(q.trim().toLowerCase().replaceAll(" ", "_")) && (origin === undefined || origin === source || (origin === "changed" && source !== "default")));
  const columns: Column<Setting>[] = [
    { name: "Setting", className: "w-[45%]", cell: ({ name }) => <code className="text-[0.8125rem] wrap-anywhere"><Highlight text={name} query={q} /></code> },
    { name: "Value", cell: ({ value, default: usual, source }) => <><code className="text-[0.8125rem] wrap-anywhere">{shownAs(value)}</code><span className="note block sm:hidden">{SOURCES[source]}</span>{source !== "default" && <span className="note block">default: {shownAs(usual)}</span>}</> },
    { name: "From", className: "w-32 text-right text-sm whitespace-nowrap max-sm:hidden", cell: ({ source }) => <span className={source === "default" ? "text-soft" : "font-semibold text-green"}>{SOURCES[source]}</span> },
  ];
  if (shown.length === 0) return <Empty title="No setting matches." />;
  return (
    <>
      <p className="note" role="status">{plural(shown.length, "setting")}</p>
      <Table name="Settings of the server" rows={shown} columns={columns} idOf={({ name }) => name} titleOf={({ name }) => name} />
    </>
  );
}

function shownAs(value: unknown): string {
  if (value === "") return "empty";
  if (Array.isArray(value) && value.length === 0) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
