/** The OpenClaw plugin: what is said goes to Carrel, every turn is given its context, and agents get the board's tools. */

import type { OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";

import { bridgeNow, bridgeWith } from "./bridge.ts";
import { readConfig } from "./config.ts";
import type { Recorder } from "./recorder.ts";
import { hasPrefix, isOwnSession } from "./sessions.ts";
import { boardTools, TOOL_NAMES } from "./tools.ts";

// What is left for OpenClaw's own work when the context is late.
const HOOK_MARGIN_MS = 500;

export default {
  id: "carrel",
  name: "Carrel",
  description: "Records what is said to a Carrel server, gives every turn its context, and brings the board's tools.",

  register(api: OpenClawPluginApi): void {
    const config = readConfig(api.pluginConfig);
    if (!config.enabled || !config.baseUrl) return;
    bridgeWith(config, api.logger);

    /** A hook that throws could stop a tool call; what cannot be recorded is logged. */
    function quietly(record: (recorder: Recorder) => void): void {
      const bridge = bridgeNow();
      if (!bridge) return;
      try {
        record(bridge.recorder);
      } catch (fault) {
        api.logger.warn(`carrel: not recorded (${String(fault)})`);
      }
    }

    api.on("message_received", (event, where) => quietly((recorder) => recorder.messageReceived(event, where)));
    api.on("before_message_write", ({ message }, where) =>
      quietly((recorder) => recorder.messageWritten(message, where)),
    );
    api.on("before_tool_call", (event, where) => quietly((recorder) => recorder.toolCalled(event, where)));
    api.on("after_tool_call", (event, where) => quietly((recorder) => recorder.toolEnded(event, where)));
    api.on("subagent_spawned", ({ childSessionKey, label }, { requesterSessionKey }) =>
      quietly((recorder) => recorder.childSpawned(childSessionKey, label, requesterSessionKey ?? "")),
    );
    api.on("agent_end", ({ messages }, where) => quietly((recorder) => recorder.turnEnded(messages, where)));
    api.on(
      "before_prompt_build",
      async ({ prompt }, where) => {
        const context = await bridgeNow()?.recorder.context(prompt, where);
        return context ? { prependContext: context } : undefined;
      },
      { timeoutMs: config.contextFetchTimeoutMs + HOOK_MARGIN_MS },
    );
    api.on("gateway_start", () => quietly(() => bridgeNow()?.start()));
    api.on("gateway_stop", async () => bridgeNow()?.stop());

    api.registerTool(
      ({ sessionKey = "", agentId }) => {
        // The server brings its own tools to the sessions that it has opened.
        const isLeftOut = isOwnSession(sessionKey) || hasPrefix(sessionKey, config.ignoreSessionPrefixes);
        return isLeftOut ? null : boardTools(config, agentId);
      },
      { names: [...TOOL_NAMES] },
    );
  },
};
