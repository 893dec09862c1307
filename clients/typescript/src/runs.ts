// Waiting for the end of a run.

import { ask, type Carrel, type Shapes } from "./client.js";

const LONGEST_WAIT_SECONDS = 600;

/** Wait until a run has ended or waits for somebody; its status is then `ok` or `error`, or `timeout` after `seconds`. */
export async function waitForRun(carrel: Carrel, id: string, seconds = LONGEST_WAIT_SECONDS): Promise<Shapes["Waited"]> {
  return ask(carrel.GET("/api/runs/{id}/wait", { params: { path: { id }, query: { timeoutSeconds: seconds } } }));
}
