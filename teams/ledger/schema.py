"""The tables of a ledger, version by version, and the seals of their rows."""

import hashlib
import json
from collections.abc import Mapping

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE run (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, status TEXT NOT NULL, stop_reason TEXT,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL, version TEXT NOT NULL, model TEXT NOT NULL,
        analyst TEXT NOT NULL, model_info TEXT NOT NULL, sandboxed INTEGER NOT NULL,
        settings TEXT NOT NULL, spent_s REAL NOT NULL DEFAULT 0, report BLOB, hash TEXT
    );
    CREATE TABLE body (hash TEXT PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE exchange (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        source TEXT NOT NULL, method TEXT NOT NULL, url TEXT NOT NULL, attempt INTEGER NOT NULL, status INTEGER,
        content_type TEXT NOT NULL, elapsed_s REAL NOT NULL, error TEXT, body TEXT NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX exchange_request ON exchange (request, run);
    CREATE INDEX exchange_run ON exchange (run);
    CREATE TABLE failure (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        kind TEXT NOT NULL, source TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX failure_request ON failure (run, request);
    CREATE TABLE model_call (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        model TEXT NOT NULL, answer BLOB NOT NULL, hash TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL, cost_usd REAL, at TEXT NOT NULL
    );
    CREATE INDEX model_call_request ON model_call (run, request);
    CREATE TABLE turn (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, iteration INTEGER NOT NULL,
        source TEXT NOT NULL, type TEXT NOT NULL, message BLOB NOT NULL, state BLOB, hash TEXT NOT NULL,
        state_hash TEXT, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX turn_run ON turn (run);
    CREATE TABLE event (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, type TEXT NOT NULL,
        iteration INTEGER NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX event_run ON event (run);
    """,
    """
    ALTER TABLE run ADD COLUMN pruned_at TEXT;
    ALTER TABLE exchange ADD COLUMN sent TEXT NOT NULL DEFAULT '';
    ALTER TABLE run ADD COLUMN seal TEXT;
    ALTER TABLE exchange ADD COLUMN seal TEXT;
    ALTER TABLE failure ADD COLUMN seal TEXT;
    ALTER TABLE model_call ADD COLUMN seal TEXT;
    ALTER TABLE turn ADD COLUMN seal TEXT;
    UPDATE run SET seal = sealed(id, question, created_at, version, model, analyst, model_info, sandboxed, settings);
    UPDATE exchange SET seal = sealed(
        run, request, source, method, url, attempt, status, content_type, elapsed_s, error, body, at, sent
    );
    UPDATE failure SET seal = sealed(run, request, kind, source, reason, at);
    UPDATE model_call SET seal = sealed(run, request, model, hash, prompt_tokens, completion_tokens, cost_usd, at);
    UPDATE turn SET seal = sealed(run, iteration, source, type, hash, state_hash, prompt_tokens, completion_tokens, at);
    """,
    """
    UPDATE turn SET seal = CASE
        WHEN seal IS sealed(run, iteration, source, type, hash, state_hash, prompt_tokens, completion_tokens, at)
        THEN sealed(run, iteration, source, type, hash, prompt_tokens, completion_tokens, at) ELSE seal END;
    ALTER TABLE turn DROP COLUMN state;
    ALTER TABLE turn DROP COLUMN state_hash;
    """,
    """
    CREATE TABLE pack (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE packed (
        hash TEXT PRIMARY KEY, pack INTEGER NOT NULL REFERENCES pack(id), start INTEGER NOT NULL, size INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)
"""What brings the schema from each version to the next; the version is the file's `user_version`."""

SEALED: Mapping[str, str] = {
    "run": "id, question, created_at, version, model, analyst, model_info, sandboxed, settings",
    "exchange": "run, request, source, method, url, attempt, status, content_type, elapsed_s, error, body, at, sent",
    "failure": "run, request, kind, source, reason, at",
    "model_call": "run, request, model, hash, prompt_tokens, completion_tokens, cost_usd, at",
    "turn": "run, iteration, source, type, hash, prompt_tokens, completion_tokens, at",
}
"""By table, the columns that are written once and never changed: their seal stands beside them."""


def sealed(*values: str | float | None) -> str:
    """The seal of a row's values: a hash of them, the same for a number however a column keeps it."""
    plain = [float(value) if isinstance(value, int) else value for value in values]
    return digest(json.dumps(plain).encode())


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
