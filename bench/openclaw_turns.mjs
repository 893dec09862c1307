// Drives the plugin for OpenClaw with the hooks of a recorded turn, again and again, and prints how long it kept them
// waiting: before the prompt and in the whole turn; and, in turn with each, the same request for a context by itself.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, recording, config, turns, withYardstick] = process.argv.slice(2);
const { default: plugin } = await import(pathToFileURL(join(folder, "dist", "index.js")).href);
const settings = JSON.parse(config);
const { hooks } = JSON.parse(readFileSync(recording, "utf8"));
const PROMPT = "before_prompt_build";
const handlers = new Map();
plugin.register({
  pluginConfig: settings,
  logger: { warn() {} },
  on: (name, handler) => handlers.set(name, handler),
  registerTool() {},
});

/** The recorded hooks as a turn of their own: other moments and messages, in one of ten sessions. */
function another(number) {
  const text = JSON.stringify(hooks)
    .replaceAll(":barn", `:barn${number % 10}`)
    .replaceAll(/"timestamp":\d+/g, `"timestamp":${1_794_983_000_000 + number * 1_000}`)
    .replaceAll("How many cows?", `How many cows are in field ${number}?`);
  return JSON.parse(text);
}

async function bare(number) {
  const query = new URLSearchParams({ sessionKey: "a2a:hermes", q: `How many cows are in field ${number}?`, maxChars: "2000" });
  const begun = performance.now();
  const answer = await fetch(`${settings.baseUrl}/api/context?${query}`, {
    headers: { Authorization: `Bearer ${settings.token}` },
  });
  await answer.text();
  return performance.now() - begun;
}

const found = { beforePrompt: [], wholeTurn: [], bare: [] };
for (let number = 0; number <= Number(turns); number += 1) {
  // The first turn opens the outbox and is not counted.
  if (number === 1) found.beforePrompt.length = found.wholeTurn.length = found.bare.length = 0;
  let spent = 0;
  for (const { hook, event, where } of another(number)) {
    const begun = performance.now();
    await handlers.get(hook)?.(event, where);
    spent += performance.now() - begun;
    if (hook === PROMPT) found.beforePrompt.push(spent);
  }
  found.wholeTurn.push(spent);
  if (withYardstick) found.bare.push(await bare(number));
}
process.stdout.write(JSON.stringify(found));
// What still waits to be sent to a server that does not take it would keep the process.
process.exit(0);
