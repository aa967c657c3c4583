// The log's compactor: long work that no caller waits for. It writes files; the writer keeps the list of them.
import { existsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { backgroundThread } from '../../../lib/background-thread.ts';
import { statementCache } from '../statement-cache.ts';
import { eachAlone, type RunGroup, serve } from '../worker-loop.ts';
import { BodyFiles } from './body-files.ts';
import { takeOverBlock } from './legacy.ts';
import type { LogCompactorCall, LogSetup } from './protocol.ts';
import { repriceSegments } from './reprice.ts';
import {
  dropRollupsOfDay,
  dueBuckets,
  forgetRollups,
  retireBucket,
  rollUpBucket,
  unsummedBuckets,
} from './retire.ts';
import { sealBlock } from './seal.ts';
import { SegmentFiles } from './segment-files.ts';

/** Heads of segments held in memory. */
const HEADS = 64;

serve<LogCompactorCall, LogSetup>(1, openCompactor);

function openCompactor(setup: LogSetup): RunGroup<LogCompactorCall> {
  backgroundThread();
  const database = new DatabaseSync(setup.path, { readOnly: true, timeout: 5000 });
  database.exec('PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0');
  const cached = statementCache(database);
  const { folder } = setup;
  const files = new SegmentFiles(folder, HEADS);
  const bodies = new BodyFiles(folder);

  /** True when nothing is listed in the file any more. */
  function drop(file: string): boolean {
    files.forget();
    if (cached('SELECT 1 FROM log_segments WHERE file = ? LIMIT 1').get(file) !== undefined) return false;
    const path = join(folder, file);
    if (existsSync(path)) unlinkSync(path);
    return true;
  }

  function perform(call: LogCompactorCall): unknown {
    switch (call.kind) {
      case 'seal':
        return sealBlock(cached, setup, call.all) ?? null;
      case 'takeOver':
        return takeOverBlock(cached, setup);
      case 'reprice':
        return repriceSegments(cached, files, folder, call.org, call.corrections);
      case 'due':
        return dueBuckets(cached, call.retention, call.now);
      case 'unsummed':
        return unsummedBuckets(cached, call.now);
      case 'retire':
        return retireBucket(cached, files, folder, call.bucket, call.withSums);
      case 'sum':
        return rollUpBucket(cached, files, folder, call.bucket);
      case 'forget':
        return forgetRollups(cached, call.bucket);
      case 'unsum':
        return dropRollupsOfDay(cached, call.day);
      case 'drop':
        return drop(call.file);
      case 'bodies':
        return bodies.append(call.keys, call.lines);
      case 'expireBodies':
        return bodies.expire(call.days, call.now);
      case 'close':
        bodies.close();
        files.forget();
        database.close();
        return null;
    }
  }

  return eachAlone(perform);
}
