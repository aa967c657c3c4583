// What the killed process writes.
import { auditEntries, auditHeads } from '../../../src/access/audit/entry.ts';
import { type Collection, defineCollection } from '../../../src/store/collection.ts';

export const things = defineCollection<{ readonly name: string }>({ name: 'things', schemaVersion: 1 });
export const killCollections: readonly Collection<object>[] = [things, auditEntries, auditHeads];
