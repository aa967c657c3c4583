// The log's keeping worker: whatever takes long and nobody waits for. It writes files; the list of them is the writer's.
import { DatabaseSync } from 'node:sqlite';
import type { Reply } from '../protocol.ts';
import { statementCache } from '../statement-cache.ts';
import { failureOf, type RunGroup, serve } from '../worker-loop.ts';
import type { LogKeeperCall, LogSetup } from './protocol.ts';
import { sealBlock } from './seal.ts';

serve<LogKeeperCall, LogSetup>(1, openKeeper);

function openKeeper(setup: LogSetup): RunGroup<LogKeeperCall> {
  const database = new DatabaseSync(setup.path, { readOnly: true, timeout: 5000 });
  database.exec('PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0');
  const cached = statementCache(database);

  function perform(call: LogKeeperCall): unknown {
    switch (call.kind) {
      case 'seal':
        return sealBlock(cached, setup, call.all) ?? null;
      case 'close':
        database.close();
        return null;
    }
  }

  return (group) =>
    group.map(([id, , call]): Reply => {
      try {
        return [id, perform(call)];
      } catch (error) {
        return [id, undefined, failureOf(error)];
      }
    });
}
