import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Entry } from "./entries.ts";

const WAITING_MAX = 100_000;
const REFUSED_MAX = 1_000;
const LEASE_MS = 30_000;

export interface Waiting {
  id: number;
  session: string;
  entry: Entry;
}

/** A SQLite file that keeps entries, in order, until the server has taken them; processes may share it. */
export class Outbox {
  readonly #db: DatabaseSync;
  readonly #owner = randomUUID();

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // What people said is in it.
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
    this.#db = new DatabaseSync(path);
    this.#db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA busy_timeout = 5000;
      CREATE TABLE IF NOT EXISTS waiting (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, body TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS refused (id INTEGER PRIMARY KEY, body TEXT NOT NULL, reason TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS sender (one INTEGER PRIMARY KEY CHECK (one = 1), owner TEXT, until INTEGER);
      INSERT OR IGNORE INTO sender VALUES (1, '', 0);
    `);
  }

  /** Store an entry durably. */
  add(session: string, entry: Entry): void {
    const row = this.#db.prepare("SELECT count(*) AS count FROM waiting").get() as { count: number };
    if (row.count >= WAITING_MAX) throw new Error(`${WAITING_MAX} entries wait to be sent to Carrel`);
    this.#db.prepare("INSERT INTO waiting (session, body) VALUES (?, ?)").run(session, JSON.stringify(entry));
  }

  /** Whether this process sends; another one may after half a minute without a sign of life. */
  maySend(now: number): boolean {
    const lease = this.#db.prepare("UPDATE sender SET owner = ?, until = ? WHERE owner = ? OR until < ?");
    return lease.run(this.#owner, now + LEASE_MS, this.#owner, now).changes > 0;
  }

  oldest(limit: number): Waiting[] {
    const rows = this.#db.prepare("SELECT id, session, body FROM waiting ORDER BY id LIMIT ?").all(limit);
    return (rows as { id: number; session: string; body: string }[]).map(({ id, session, body }) => ({
      id,
      session,
      entry: JSON.parse(body) as Entry,
    }));
  }

  /** Remove the entries up to a number: the server has taken them. */
  sent(upto: number): void {
    this.#db.prepare("DELETE FROM waiting WHERE id <= ?").run(upto);
  }

  /** Put an entry aside that the server will never take, so that it holds up no other. */
  refuse({ id, entry }: Waiting, reason: string): void {
    this.#db.prepare("REPLACE INTO refused VALUES (?, ?, ?)").run(id, JSON.stringify(entry), reason);
    this.#db.prepare("DELETE FROM waiting WHERE id = ?").run(id);
    this.#db
      .prepare("DELETE FROM refused WHERE id IN (SELECT id FROM refused ORDER BY id DESC LIMIT -1 OFFSET ?)")
      .run(REFUSED_MAX);
  }

  close(): void {
    this.#db.prepare("UPDATE sender SET until = 0 WHERE owner = ?").run(this.#owner);
    this.#db.close();
  }
}
