import { homedir } from "node:os";
import { join } from "node:path";

/** The settings of the plugin; the names and defaults are those of Carrel's bridge. */
export interface Config {
  baseUrl: string;
  token: string;
  enabled: boolean;
  queuePath: string;
  queue: boolean;
  contextAugment: boolean;
  contextMode: string;
  contextFetchTimeoutMs: number;
  contextMaxChars: number;
  contextTopicLimit: number;
  contextTaskLimit: number;
  contextLogLimit: number;
  autoTopicBySession: boolean;
  ignoreSessionPrefixes: string[];
}

const DEFAULTS: Config = {
  baseUrl: "",
  token: "",
  enabled: true,
  queuePath: "~/.carrel/openclaw-queue.sqlite",
  queue: false,
  contextAugment: true,
  contextMode: "auto",
  contextFetchTimeoutMs: 1200,
  contextMaxChars: 2200,
  contextTopicLimit: 3,
  contextTaskLimit: 3,
  contextLogLimit: 6,
  autoTopicBySession: false,
  ignoreSessionPrefixes: [],
};

type Environment = Record<string, string | undefined>;

/** Return the settings: as configured, which OpenClaw has checked against the manifest, else from the environment. */
export function readConfig(given: Record<string, unknown> = {}, environment: Environment = process.env): Config {
  const config = { ...DEFAULTS, ...fromEnvironment(environment), ...given } as Config;
  const path = config.queuePath.startsWith("~/") ? join(homedir(), config.queuePath.slice(2)) : config.queuePath;
  return { ...config, baseUrl: config.baseUrl.replace(/\/+$/, ""), queuePath: path };
}

/** contextMaxChars is CLAWBOARD_LOGGER_CONTEXT_MAX_CHARS; what is empty or no value of its setting does not count. */
function fromEnvironment(environment: Environment): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [name, standard] of Object.entries(DEFAULTS)) {
    const variable = `CLAWBOARD_LOGGER_${name.replace(/[A-Z]/g, "_$&").toUpperCase()}`;
    const value = asValue(environment[variable]?.trim() ?? "", standard);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function asValue(text: string, standard: unknown): unknown {
  if (!text) return undefined;
  if (typeof standard === "boolean") return { true: true, "1": true, false: false, "0": false }[text.toLowerCase()];
  if (typeof standard === "number") return /^\d+$/.test(text) ? Number(text) : undefined;
  if (!Array.isArray(standard)) return text;
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}
