// What people and agents write. Markup stays text, links say where they lead, pictures become links: nothing is loaded.

import { memo, type ReactNode, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkBreaks from "remark-breaks";
import remarkGfm from "remark-gfm";
import { Button } from "./button";
import { Icon } from "./icon";

const COPIED_MS = 1_500;
const PLUGINS = [remarkGfm, remarkBreaks];
// A scheme that a browser only follows; everything else stays text.
const SAFE = /^(https?:|mailto:)/i;

const COMPONENTS: Components = {
  // The page has its own h1 and h2.
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  a: ({ href, children }) => <Target href={href ?? ""}>{children}</Target>,
  img: ({ src, alt }) => <Target href={typeof src === "string" ? src : ""}>{alt || "picture"}</Target>,
  pre: ({ children }) => <Code>{children}</Code>,
  table: ({ children }) => <div className="overflow-x-auto"><table>{children}</table></div>,
  // The alignment comes as a style, which we give as an attribute that the style sheet knows.
  th: ({ children, style }) => <th data-align={style?.textAlign}>{children}</th>,
  td: ({ children, style }) => <td data-align={style?.textAlign}>{children}</td>,
  input: ({ checked }) => <input type="checkbox" checked={checked ?? false} readOnly disabled aria-label={checked ? "done" : "not done"} className="mr-1.5 accent-green" />,
};

export const Markdown = memo(function Markdown({ text, className = "" }: { text: string; className?: string }) {
  return (
    <div className={`prose ${className}`}>
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS} urlTransform={(url) => url}>{text}</ReactMarkdown>
    </div>
  );
});

function Target({ href, children }: { href: string; children: ReactNode }) {
  if (!SAFE.test(href)) return <>[{children}]({href})</>;
  const where = hostOf(href);
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" className="underline">
      {children}{where !== "" && <span className="target"> ({where})</span>}
    </a>
  );
}

function hostOf(href: string): string {
  try {
    return new URL(href).host;
  } catch {
    return "";
  }
}

/** A block of code with a button that copies it. */
export function Code({ children }: { children: ReactNode }) {
  const [copied, setCopied] = useState(false);
  const copy = (event: { currentTarget: HTMLElement }) => {
    const text = event.currentTarget.parentElement?.querySelector("pre")?.textContent ?? "";
    void navigator.clipboard?.writeText(text.replace(/\n$/, "")).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), COPIED_MS);
    });
  };
  return (
    <div className="group relative">
      <pre tabIndex={0} className="code">{children}</pre>
      <Button small weight="quiet" onClick={copy} aria-label="Copy code" className="absolute top-1.5 right-1.5 opacity-0 group-hover:opacity-100 focus-visible:opacity-100 pointer-coarse:opacity-100">
        <Icon name={copied ? "check" : "copy"} className="size-4" />{copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}
