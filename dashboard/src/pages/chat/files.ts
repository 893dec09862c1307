// Files that are dropped, pasted or chosen: read into what a message carries.

import type { Shapes } from "../../data/api";
import { toast } from "../../ui/toast";

const FILES_MOST = 8;
const BYTES_MOST = 10 * 1024 * 1024;

/** Read files and return them behind those that are there; what cannot be sent is said. */
export async function withFiles(there: Shapes["NewFile"][], added: Iterable<File>): Promise<Shapes["NewFile"][]> {
  const files = [...there];
  for (const file of added) {
    if (files.length >= FILES_MOST) {
      toast({ tone: "failure", text: `A message takes at most ${FILES_MOST} files.` });
      break;
    }
    if (file.size > BYTES_MOST) toast({ tone: "failure", text: `${file.name} is larger than 10 MiB and was not attached.` });
    else files.push({ name: file.name || "file", mimeType: mediaType(file), dataBase64: await base64(file) });
  }
  return files;
}

// A type may have parameters, which the server does not take.
const mediaType = (file: File): string => file.type.split(";")[0] || "application/octet-stream";

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
