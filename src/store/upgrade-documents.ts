// Writes the documents of an older schema version in the collection's own. The documents themselves show what is
// done: an instance that was killed, or that runs at the same time as another, continues with what is left.
import type { Collection } from './collection.ts';
import type { Document } from './documents.ts';
import type { DocumentMaintenance, Rewrite, ScanBatch, StoredDocument } from './maintenance.ts';
import { upgradedBody } from './upgrades.ts';

/** A document that stays as it is; it is still upgraded whenever it is read. */
export interface LeftDocument {
  readonly organisationId: string;
  readonly id: string;
  readonly schemaVersion: number;
  readonly why: string;
}

export interface UpgradeReport {
  readonly collection: string;
  /** Documents written in the current shape. */
  readonly upgraded: number;
  /** Documents that could not be, and the first hundred of them. */
  readonly left: number;
  readonly examples: readonly LeftDocument[];
}

const BATCH = 200;
const EXAMPLES = 100;
/** A program of the version before may write while this runs, but only as long as it runs. */
const PASSES = 5;

/** Brings a collection's documents to its schema version. Throws what the store throws; run it again then. */
export async function upgradeDocuments(
  maintenance: DocumentMaintenance,
  collection: Collection<object>,
): Promise<UpgradeReport> {
  let upgraded = 0;
  let left: LeftDocument[] = [];
  let leftCount = 0;
  for (let pass = 0; pass < PASSES; pass++) {
    let again = false;
    left = [];
    leftCount = 0;
    let after: string | undefined;
    do {
      const batch: ScanBatch = await maintenance.scan(collection, {
        after,
        limit: BATCH,
        olderThan: collection.schemaVersion,
      });
      const done = await upgradeBatch(maintenance, collection, batch.documents);
      upgraded += done.upgraded;
      leftCount += done.left.length;
      left.push(...done.left.slice(0, EXAMPLES - left.length));
      again ||= done.changed;
      after = batch.next;
    } while (after !== undefined);
    if (!again) break;
  }
  return { collection: collection.name, upgraded, left: leftCount, examples: left };
}

/**
 * Brings all collections to their schema versions; `done` is called for each that is complete.
 */
export async function upgradeCollections(
  maintenance: DocumentMaintenance,
  collections: readonly Collection<object>[],
  done: (collection: Collection<object>) => Promise<unknown>,
): Promise<UpgradeReport[]> {
  const reports: UpgradeReport[] = [];
  for (const collection of collections) {
    const report = await upgradeDocuments(maintenance, collection);
    if (report.left === 0) await done(collection);
    reports.push(report);
  }
  return reports;
}

async function upgradeBatch(
  maintenance: DocumentMaintenance,
  collection: Collection<object>,
  documents: readonly StoredDocument[],
): Promise<{ upgraded: number; left: LeftDocument[]; changed: boolean }> {
  const left: LeftDocument[] = [];
  const rewrites: Rewrite[] = [];
  const { schemaVersion } = collection;
  for (const stored of documents) {
    const { document } = stored;
    try {
      const body = upgradedBody(collection, document.schemaVersion, document.body);
      rewrites.push({ stored, body, schemaVersion });
    } catch (error) {
      left.push(leftDocument(document, error instanceof Error ? error.message : 'its upgrade failed'));
    }
  }
  const outcomes = await maintenance.rewrite(collection, rewrites);
  for (const [index, outcome] of outcomes.entries()) {
    const document = rewrites[index]?.stored.document;
    if (outcome === 'conflict' && document !== undefined) {
      left.push(leftDocument(document, 'its new values break a unique constraint'));
    }
  }
  return {
    upgraded: outcomes.filter((outcome) => outcome === 'written').length,
    left,
    changed: outcomes.includes('changed'),
  };
}

function leftDocument({ organisationId, id, schemaVersion }: Document<object>, why: string): LeftDocument {
  return { organisationId, id, schemaVersion, why };
}
