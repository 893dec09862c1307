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
};

/** Return the settings; OpenClaw has checked them against the manifest. */
export function readConfig(given: Record<string, unknown> = {}): Config {
  const config = { ...DEFAULTS, ...given } as Config;
  const path = config.queuePath.startsWith("~/") ? join(homedir(), config.queuePath.slice(2)) : config.queuePath;
  return { ...config, baseUrl: config.baseUrl.replace(/\/+$/, ""), queuePath: path };
}
