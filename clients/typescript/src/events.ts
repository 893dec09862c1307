// What happens in the server, by name.

/** One event, as the stream and webhooks carry it. */
export type CarrelEvent = {
  seq: number;
  name: string;
  at: string;
  sessionId: string | null;
  sessionKey: string | null;
  generation: number | null;
  runId: string | null;
  taskId: string | null;
  topicId: string | null;
  spaceId: string | null;
  agentId: string | null;
  data: Record<string, unknown>;
};

/** The names of all events. */
export const EVENT_NAMES = [
  "run.queued", "run.started", "run.waiting", "run.completed", "run.failed", "run.cancelled", "run.retrying", "run.rescued",
  "run.progress", "session.opened", "session.closed", "session.updated", "session.deleted", "task.created", "task.updated",
  "task.moved", "task.assigned", "task.deleted", "topic.created", "topic.updated", "topic.deleted", "space.created",
  "space.updated", "space.deleted", "log.appended", "log.updated", "log.deleted", "digest.updated", "notification.created",
  "notification.read", "plan_mode.enabled", "plan_mode.disabled", "plan.created", "plan.updated", "auto.started",
  "auto.ticked", "auto.stopped", "goal.created", "goal.updated", "schedule.fired", "schedule.disabled", "memory.written",
  "memory.promoted", "memory.forgotten", "announce.delivered", "announce.undelivered", "context.injected", "agent.updated",
  "pointer.changed", "schedule.updated", "schedule.deleted", "user.updated", "token.updated", "account.updated", "settings.updated",
  "topic.merged",
];
