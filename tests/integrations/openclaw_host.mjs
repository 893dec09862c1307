// Plays OpenClaw: registers the plugin as often as stdin's first line says, each time from modules of its own, and then
// calls the hooks and tools that further lines name, one JSON object on each.
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, config] = process.argv.slice(2);
const copies = mkdtempSync(join(tmpdir(), "carrel-openclaw-"));
process.on("exit", () => rmSync(copies, { recursive: true, force: true }));

async function registered(mode, number) {
  const copy = join(copies, String(number));
  cpSync(folder, copy, { recursive: true });
  const { default: plugin } = await import(pathToFileURL(join(copy, "dist", "index.js")).href);
  const hooks = new Map();
  const tools = [];
  plugin.register({
    registrationMode: mode,
    pluginConfig: JSON.parse(config),
    logger: { warn: (text) => process.stderr.write(`${text}\n`) },
    on: (name, handler) => hooks.set(name, handler),
    registerTool: (factory) => tools.push(factory),
  });
  return { hooks, tools };
}

async function called({ hook, event, where, tool, params }, { hooks, tools }) {
  if (hook) return (await hooks.get(hook)?.(event, where)) ?? null;
  const found = tools.flatMap((factory) => factory(where) ?? []).find(({ name }) => name === tool);
  if (!found) return { missing: tool };
  try {
    return JSON.parse((await found.execute("call_1", params)).content[0].text);
  } catch (fault) {
    return { error: fault.message };
  }
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const registrations = [];
for (const mode of JSON.parse((await lines.next()).value)) {
  registrations.push(await registered(mode, registrations.length + 1));
}
process.stdout.write("null\n");
for await (const line of lines) {
  const call = JSON.parse(line);
  const result = await called(call, registrations[(call.registration ?? 1) - 1]);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
