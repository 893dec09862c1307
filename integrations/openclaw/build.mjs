// Writes the sources as JavaScript into dist, or into the folder that is named. Node alone does it: types are removed,
// and everything else stays where it is.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

const sources = join(import.meta.dirname, "src");
const target = process.argv[2] ?? join(import.meta.dirname, "dist");

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const name of readdirSync(sources).sort()) {
  const code = stripTypeScriptTypes(readFileSync(join(sources, name), "utf8"));
  const lines = code.replace(/ from "(\.\/[^"]+)\.ts"/g, ' from "$1.js"').split("\n");
  const kept = lines.map((line) => line.trimEnd()).join("\n");
  writeFileSync(join(target, name.replace(/\.ts$/, ".js")), `${kept.replace(/\n{3,}/g, "\n\n").trim()}\n`);
}
