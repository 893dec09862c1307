import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

const WAITING_MAX = 100_000;
const REFUSED_MAX = 1_000;
const LEASE_MS = 30_000;
const PLACES_MAX = 10_000;
// The gateway stands still while this is waited for.
const BUSY_MS = 1_000;

/** A SQLite file that keeps entries, in order, until the server has taken them; processes may share it. */
export class Outbox {
           #db              ;
           #owner = `${process.pid}:${randomUUID()}`;

  constructor(path        ) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // What people said is in it.
    closeSync(openSync(path, "a", 0o600));
    chmodSync(path, 0o600);
    this.#db = new DatabaseSync(path);
    this.#db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA busy_timeout = ${BUSY_MS};
      CREATE TABLE IF NOT EXISTS waiting (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, body TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS refused (id INTEGER PRIMARY KEY, body TEXT NOT NULL, reason TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS places (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS sender (one INTEGER PRIMARY KEY CHECK (one = 1), owner TEXT, until INTEGER);
      INSERT OR IGNORE INTO sender VALUES (1, '', 0);
    `);
  }

  /** Store an entry durably. */
  add(entry       )       {
    const row = this.#db.prepare("SELECT count(*) AS count FROM waiting").get()                     ;
    if (row.count >= WAITING_MAX) throw new Error(`${WAITING_MAX} entries wait to be sent to Carrel`);
    const body = JSON.stringify(entry);
    this.#db.prepare("INSERT INTO waiting (session, body) VALUES (?, ?)").run(entry.source.sessionKey, body);
  }

  /** Return the conversation in which a session of OpenClaw takes place. */
  place(session        )                     {
    const row = this.#db.prepare("SELECT conversation FROM places WHERE session = ?").get(session);
    return row?.conversation                      ;
  }

  setPlace(session        , conversation        )       {
    this.#db.prepare("REPLACE INTO places (session, conversation) VALUES (?, ?)").run(session, conversation);
    this.#db.prepare("DELETE FROM places WHERE id <= (SELECT max(id) FROM places) - ?").run(PLACES_MAX);
  }

  /** Whether this process sends; another one may once it is dead, or after half a minute without a sign of life. */
  maySend(now        )          {
    const { owner } = this.#db.prepare("SELECT owner FROM sender").get()                     ;
    const over = isAlive(Number(owner.split(":")[0])) ? this.#owner : owner;
    const lease = this.#db.prepare("UPDATE sender SET owner = ?, until = ? WHERE owner IN (?, ?) OR until < ?");
    return lease.run(this.#owner, now + LEASE_MS, this.#owner, over, now).changes > 0;
  }

  oldest(limit        )            {
    const rows = this.#db.prepare("SELECT id, body FROM waiting ORDER BY id LIMIT ?").all(limit);
    return (rows                                  ).map(({ id, body }) => ({ id, entry: JSON.parse(body)          }));
  }

  /** Remove the entries up to a number: the server has taken them. */
  sent(upto        )       {
    this.#db.prepare("DELETE FROM waiting WHERE id <= ?").run(upto);
  }

  /** Put an entry aside that the server will never take, so that it holds up no other. */
  refuse({ id, entry }         , reason        )       {
    this.#db.prepare("REPLACE INTO refused VALUES (?, ?, ?)").run(id, JSON.stringify(entry), reason);
    this.#db.prepare("DELETE FROM waiting WHERE id = ?").run(id);
    this.#db
      .prepare("DELETE FROM refused WHERE id IN (SELECT id FROM refused ORDER BY id DESC LIMIT -1 OFFSET ?)")
      .run(REFUSED_MAX);
  }

  close()       {
    this.#db.prepare("UPDATE sender SET until = 0 WHERE owner = ?").run(this.#owner);
    this.#db.close();
  }
}

function isAlive(pid        )          {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (fault) {
    // Of another user's process, it is only said that it is there.
    return (fault                         ).code === "EPERM";
  }
}
