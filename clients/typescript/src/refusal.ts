// The one error of every call.

/** A request that failed; `status` is 0 when the server did not answer. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null = null,
    readonly field: string | null = null,
  ) {
    super(message);
    this.name = "Refusal";
  }

  /** Whether the same request may succeed later. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export const UNREACHABLE = "The server cannot be reached.";

/** Return what an answer that is not a success says. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const body = (await response.clone().json().catch(() => null)) as {
    error?: { code?: string; message?: string; field?: string };
    requestId?: string;
  } | null;
  const { code = "unknown", message = `The server answered ${response.status}.`, field = null } = body?.error ?? {};
  return new Refusal(response.status, code, message, body?.requestId ?? response.headers.get("X-Request-Id"), field);
}
