// Plays OpenClaw: loads the plugin, and calls the hooks that stdin names, one JSON object on each line.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [path, config] = process.argv.slice(2);
const hooks = new Map();
const { default: plugin } = await import(pathToFileURL(path).href);
plugin.register({
  pluginConfig: JSON.parse(config),
  logger: { warn: (text) => process.stderr.write(`${text}\n`) },
  on: (name, handler) => hooks.set(name, handler),
});
for await (const line of createInterface({ input: process.stdin })) {
  const { hook, event, where } = JSON.parse(line);
  const result = await hooks.get(hook)?.(event, where);
  process.stdout.write(`${JSON.stringify(result ?? null)}\n`);
}
