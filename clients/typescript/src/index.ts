export { ask, createCarrel, readAll, type Carrel, type Server, type Shapes } from "./client.js";
export { EVENT_NAMES, type CarrelEvent } from "./events.js";
export { Refusal } from "./refusal.js";
export { waitForRun } from "./runs.js";
export { followEvents, openStream, type Frame, type Selection } from "./stream.js";
