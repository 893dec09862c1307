// Calls of the API, typed from its OpenAPI document.

import createClient, { type Client, type Middleware } from "openapi-fetch";
import { Refusal, refusalOf, UNREACHABLE } from "./refusal.js";
import type { components, paths } from "./schema.gen.js";

export type Shapes = components["schemas"];
export type Carrel = Client<paths>;

export type Server = {
  /** Its address, such as `http://127.0.0.1:8787`. */
  url: string;
  /** A token; in a browser that is signed in, the cookie is enough. */
  token?: string;
};

const refusals: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await refusalOf(response);
  },
  onError({ error }) {
    if (error instanceof DOMException && error.name === "AbortError") return error;
    return new Refusal(0, "unreachable", UNREACHABLE);
  },
};

/** Return the headers that say who asks. */
export function headersOf({ token }: Server, accept: string): Record<string, string> {
  return token === undefined ? { Accept: accept } : { Accept: accept, Authorization: `Bearer ${token}` };
}

/** Return a client of a server: `GET`, `POST`, `PATCH`, `PUT` and `DELETE`, which throw a `Refusal` unless they succeed. */
export function createCarrel(server: Server): Carrel {
  const carrel = createClient<paths>({ baseUrl: server.url, headers: headersOf(server, "application/json") });
  carrel.use(refusals);
  return carrel;
}

/** Return the body of an answer; a refusal was thrown before this is reached. */
export async function ask<Body>(call: Promise<{ data?: Body }>): Promise<Body> {
  return (await call).data as Body;
}

type Page = { nextCursor: string | null };

/** Read the pages of a list, at most `pages` of them; `more` says whether the server has others. */
export async function readAll<Answer extends Page, Row>(
  read: (cursor: string | undefined) => Promise<Answer>,
  rowsOf: (answer: Answer) => Row[],
  pages = 5,
): Promise<{ rows: Row[]; more: boolean }> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const answer = await read(cursor);
    rows.push(...rowsOf(answer));
    if (!answer.nextCursor) return { rows, more: false };
    cursor = answer.nextCursor;
  }
  return { rows, more: true };
}
