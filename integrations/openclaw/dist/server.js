/** The server has refused a request. */
export class Refused extends Error {
           status        ;

  constructor(status        , message        ) {
    super(message);
    this.status = status;
  }
}

/** Make a request to the server; the answer is JSON. */
export async function ask(
  config        ,
  method                          ,
  path        ,
  { body, key, timeoutMs = 10_000, signal }          = {},
)                   {
  const headers                         = { Accept: "application/json" };
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

function reason(text        )                     {
  try {
    return (JSON.parse(text)                                    ).error?.message;
  } catch {
    return undefined;
  }
}
