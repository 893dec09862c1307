// The files of a message: each can be downloaded, and pictures are shown small.

import type { Shapes } from "../data/api";
import { Icon } from "./icon";

// What every browser shows as a picture and runs nothing from; an SVG could hold scripts.
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const SHOWN_BYTES_MOST = 2 * 1024 * 1024;

export function Files({ files }: { files: Shapes["FileShape"][] }) {
  if (files.length === 0) return null;
  return (
    <ul aria-label="Files" className="mt-1.5 flex flex-wrap items-end gap-1.5 font-sans text-[0.8125rem]">
      {files.map((file) => (
        <li key={file.id} className="min-w-0">
          <a href={`/api/attachments/${encodeURIComponent(file.id)}`} download={file.fileName} className="grid max-w-64 min-w-0 gap-1 rounded border border-rule bg-paper px-2 py-0.5 no-underline hover:border-edge">
            {PICTURES.has(file.mimeType) && file.sizeBytes <= SHOWN_BYTES_MOST && (
              <img src={`/api/attachments/${encodeURIComponent(file.id)}`} alt="" loading="lazy" className="mt-1 max-h-40 max-w-full rounded-sm object-contain" />
            )}
            <span className="inline-flex min-w-0 items-center gap-1.5">
              <Icon name="file" className="size-4 shrink-0" /><span className="truncate">{file.fileName}</span>{file.sizeBytes > 0 && <span className="shrink-0 text-soft">{size(file.sizeBytes)}</span>}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const size = (bytes: number): string => (bytes < 1024 ? `${bytes} B` : bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`);
