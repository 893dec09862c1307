import type { Config } from "./config.ts";

/** The server has refused a request. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Options {
  body?: unknown;
  key?: string;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Make a request to the server; the answer is JSON. */
export async function ask(
  config: Config,
  method: "GET" | "POST" | "PATCH",
  path: string,
  { body, key, timeoutMs = 10_000, signal }: Options = {},
): Promise<unknown> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (config.token) headers.Authorization = `Bearer ${config.token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["X-Idempotency-Key"] = key;
  const response = await fetch(config.baseUrl + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    redirect: "error",
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(response.status, reason(text) ?? `The server responded with ${response.status}.`);
  return text ? JSON.parse(text) : undefined;
}

function reason(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { error?: { message?: string } }).error?.message;
  } catch {
    return undefined;
  }
}
