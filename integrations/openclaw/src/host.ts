/** The part of OpenClaw's plugin interface that this plugin uses. */

export interface Logger {
  warn(message: string): void;
}

/** What hooks are told about where something happens; each hook has some of it. */
export interface Where {
  agentId?: string;
  sessionKey?: string;
  channelId?: string;
  conversationId?: string;
  threadId?: string | number;
  trigger?: string;
}

export interface MessageEvent extends Where {
  content?: string;
  messageId?: string;
  timestamp?: number;
  metadata?: Record<string, unknown>;
}

export interface ToolEvent {
  toolName?: string;
  params?: unknown;
  toolCallId?: string;
  result?: unknown;
  error?: string;
}

export interface TurnEvent {
  prompt?: string;
  messages?: unknown[];
}

export interface Host {
  pluginConfig?: Record<string, unknown>;
  logger?: Logger;
  on(
    hook: string,
    handler: (event: never, where: Where) => unknown,
    options?: { timeoutMs?: number },
  ): void;
}
