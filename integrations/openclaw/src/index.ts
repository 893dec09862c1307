/** The OpenClaw plugin: what is said goes to Carrel, and every turn is given the context of its session. */

import { readConfig } from "./config.ts";
import type { Host, MessageEvent, ToolEvent, TurnEvent, Where } from "./host.ts";
import { Outbox } from "./outbox.ts";
import { Recorder } from "./recorder.ts";
import { Sender } from "./sender.ts";

// What is left for OpenClaw's own work when the context is late.
const HOOK_MARGIN_MS = 500;

export default {
  id: "carrel",
  name: "Carrel",
  description: "Records what is said to a Carrel server, and gives every turn the context of its session.",

  register(host: Host): void {
    const config = readConfig(host.pluginConfig);
    if (!config.enabled || !config.baseUrl) return;
    const outbox = new Outbox(config.queuePath);
    const sender = new Sender(outbox, config, host.logger);
    const recorder = new Recorder(config, (session, entry) => {
      outbox.add(session, entry);
      sender.wake();
    });

    /** A hook that throws could stop a tool call; what cannot be recorded is logged. */
    function quietly<E>(handle: (event: E, where: Where) => void): (event: E, where: Where) => void {
      return (event, where) => {
        try {
          handle(event ?? ({} as E), where ?? {});
        } catch (fault) {
          host.logger?.warn(`carrel: not recorded (${String(fault)})`);
        }
      };
    }

    host.on("message_received", quietly((event: MessageEvent, where) => recorder.messageReceived(event, where)));
    host.on("message_sending", quietly((event: MessageEvent, where) => recorder.messageSending(event, where)));
    host.on("before_tool_call", quietly((event: ToolEvent, where) => recorder.toolCalled(event, where)));
    host.on("after_tool_call", quietly((event: ToolEvent, where) => recorder.toolEnded(event, where)));
    host.on("agent_end", quietly((event: TurnEvent, where) => recorder.turnEnded(event, where)));
    host.on(
      "before_prompt_build",
      async (event: TurnEvent, where: Where) => {
        const context = await recorder.context(event ?? {}, where ?? {});
        return context ? { prependContext: context } : undefined;
      },
      { timeoutMs: config.contextFetchTimeoutMs + HOOK_MARGIN_MS },
    );
    host.on("gateway_stop", async () => {
      await sender.stop();
      outbox.close();
    });
  },
};
