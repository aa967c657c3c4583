const LAYOUT=2;function createStateTables(database){const layout=Number(database.prepare(`PRAGMA user_version`).get()?.user_version);if(layout>2)throw new Error(`the shared state has layout ${layout}, made by a newer version; this one knows ${2}`);database.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS budgets (
      org TEXT NOT NULL, key TEXT NOT NULL, spent TEXT NOT NULL, held TEXT NOT NULL, keep_until INTEGER,
      PRIMARY KEY (org, key)
    ) STRICT, WITHOUT ROWID;
    ${layout===1?`ALTER TABLE budgets ADD COLUMN keep_until INTEGER;`:``}
    CREATE INDEX IF NOT EXISTS budgets_kept ON budgets (keep_until) WHERE keep_until IS NOT NULL;
    CREATE TABLE IF NOT EXISTS holds (
      org TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, expires_at INTEGER NOT NULL,
      forget_at INTEGER, note TEXT NOT NULL, items TEXT NOT NULL, UNIQUE (org, id)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS holds_by_expiry ON holds (org, expires_at, id) WHERE forget_at IS NULL;
    CREATE INDEX IF NOT EXISTS holds_by_forgetting ON holds (forget_at) WHERE forget_at IS NOT NULL;
    CREATE TABLE IF NOT EXISTS slots (
      org TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, expires_at INTEGER NOT NULL, UNIQUE (org, key, id)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS slots_live ON slots (org, key, expires_at);
    CREATE TABLE IF NOT EXISTS journal_heads (
      org TEXT PRIMARY KEY, tail INTEGER NOT NULL, claimed_to INTEGER NOT NULL, size INTEGER NOT NULL,
      claimed INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS journal (
      org TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, made_at INTEGER NOT NULL, data TEXT NOT NULL,
      consumer TEXT, lease_until INTEGER, UNIQUE (org, seq)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS journal_claims ON journal (org, lease_until, seq) WHERE lease_until IS NOT NULL;
    CREATE TABLE IF NOT EXISTS journal_ids (
      org TEXT NOT NULL, id TEXT NOT NULL, forget_at INTEGER NOT NULL, UNIQUE (org, id)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS journal_ids_by_forgetting ON journal_ids (forget_at);
    CREATE TABLE IF NOT EXISTS vals (
      org TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, value TEXT, PRIMARY KEY (org, key)
    ) STRICT, WITHOUT ROWID;
    PRAGMA user_version = ${2};
    COMMIT;`)}const FORGET=1e3;function forgetter(database){const statements=[[`holds`,`rowid`,`forget_at IS NOT NULL AND forget_at <= ?`],[`journal_ids`,`rowid`,`forget_at <= ?`],[`budgets`,`org, key`,`keep_until IS NOT NULL AND keep_until <= ?`]].map(([table,name,where])=>database.prepare(`DELETE FROM ${table} WHERE (${name}) IN (SELECT ${name} FROM ${table} WHERE ${where} LIMIT ${FORGET})`));return ms=>{for(const statement of statements)statement.run(ms)}}export{forgetter as n,createStateTables as t};