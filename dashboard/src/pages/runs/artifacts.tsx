// What a run handed in: files, texts, data and addresses, with a look at those that can be read here.

import type { Shapes } from "../../data/api";
import { Age } from "../../ui/age";
import { Code, Markdown } from "../../ui/markdown";
import { pretty } from "./tools";

type Artifact = Shapes["ArtifactShape"];

const SAFE = /^https?:/i;

export function Artifacts({ artifacts }: { artifacts: Artifact[] }) {
  if (artifacts.length === 0) return <p className="note">This run left no artifacts.</p>;
  return <div className="border-t border-rule">{artifacts.map((artifact) => <Item key={artifact.id} artifact={artifact} />)}</div>;
}

function Item({ artifact }: { artifact: Artifact }) {
  const name = artifact.name || artifact.filename || artifact.kind;
  return (
    <article aria-label={name} className="border-b border-rule py-2">
      <p className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-semibold">{name}</span>
        <span className="note">{[artifact.kind, artifact.mediaType, size(artifact.bytes)].filter(Boolean).join(" · ")}</span><Age at={artifact.addedAt} ago className="note" />
        {artifact.kind !== "url" && <a href={`/api/artifacts/${encodeURIComponent(artifact.id)}/content`} download className="ml-auto text-sm underline">Download</a>}
      </p>
      <Preview artifact={artifact} />
    </article>
  );
}

function Preview({ artifact }: { artifact: Artifact }) {
  if (artifact.kind === "url" && artifact.url) {
    return SAFE.test(artifact.url) ? <a href={artifact.url} target="_blank" rel="noopener noreferrer" className="underline">{artifact.url}</a> : <p className="font-mono text-sm">{artifact.url}</p>;
  }
  if (artifact.text === null) return null;
  const isText = artifact.kind === "text" && (artifact.mediaType === null || artifact.mediaType.includes("markdown") || artifact.mediaType === "text/plain");
  return (
    <details className="mt-1" open={artifact.text.length < 2_000}>
      <summary className="note underline">Preview</summary>
      <div className="mt-1 max-h-96 overflow-y-auto rounded-md border border-rule bg-leaf px-4 py-3">{isText ? <Markdown text={artifact.text} /> : <Code>{pretty(artifact.text)}</Code>}</div>
    </details>
  );
}

function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
