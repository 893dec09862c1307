// Throttled refreshing: many events lead to one read, never two at once, and slow servers are read less often.

const LEAST_PAUSE_MS = 150;
const AFTER_FAILURE_MS = 3_000;

/** Return `{ask, stop}`; `ask()` calls `read` soon, `failed(error)` gets errors, and a failed read is repeated. */
export function refresher(read, failed) {
  let wanted = false;
  let busy = false;
  let stopped = false;
  let timer = 0;

  async function run() {
    timer = 0;
    wanted = false;
    busy = true;
    const began = performance.now();
    let pause;
    try {
      await read();
      pause = Math.max(LEAST_PAUSE_MS, (performance.now() - began) * 2);
    } catch (error) {
      if (stopped) return;
      failed(error);
      wanted = error.status === 0 || error.status >= 500;
      pause = AFTER_FAILURE_MS;
    }
    timer = setTimeout(() => {
      busy = false;
      timer = 0;
      if (wanted && !stopped) run();
    }, pause);
  }

  return {
    ask() {
      wanted = true;
      if (!busy && !stopped && timer === 0) timer = setTimeout(run, 0);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
