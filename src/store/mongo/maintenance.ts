// The maintenance port over MongoDB: scans by `_id`, writes one document at a time as atomic commands.
import type mongoose from 'mongoose';
import type { Collection } from '../collection.ts';
import type { Document } from '../documents.ts';
import type { DocumentMaintenance, Rewrite, RewriteOutcome } from '../maintenance.ts';
import { checkRewrite, checkScan } from '../maintenance-checks.ts';
import type { Calls, Deadline } from './calls.ts';
import { type DocumentModel, type DocumentRow, modelOf } from './document-schema.ts';
import { isDuplicateKey } from './failures.ts';
import { type ImportedRow, importedRow, importRows, lookUpRows, valuesByColumn } from './imports.ts';
import { type Filter, queryOf } from './page-filter.ts';
import { POSITION, scanDocuments, stampedRow } from './scan.ts';

/** Writes under way at once: a batch is no reason to starve the service's own calls of connections. */
const TOGETHER = 8;

/** Documents of one command. */
const PART = 200;

export function mongoMaintenance(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  calls: Calls,
): DocumentMaintenance {
  const modelFor = (collection: Collection<object>): DocumentModel => {
    if (!collections.some(({ name }) => name === collection.name))
      throw new Error(`collection ${collection.name} was not given to the store`);
    return modelOf(connection, collection);
  };
  async function inParts<R>(
    collection: Collection<object>,
    documents: readonly Document<object>[],
    run: (model: DocumentModel, rows: readonly ImportedRow[], deadline: Deadline) => Promise<R[]>,
  ): Promise<R[]> {
    const model = modelFor(collection);
    const rows = documents.map((document) => importedRow(collection, document));
    const results: R[] = [];
    for (let at = 0; at < rows.length; at += PART) {
      const part = rows.slice(at, at + PART);
      results.push(...(await calls.run((deadline) => run(model, part, deadline))));
    }
    return results;
  }
  return {
    count: async (collection) => {
      const model = modelFor(collection);
      return calls.run((deadline) => model.countDocuments({}, { maxTimeMS: deadline.remaining() }));
    },
    scan: async (collection, request) => {
      const model = modelFor(collection);
      const checked = checkScan(request, POSITION);
      return calls.run((deadline) => scanDocuments(model, checked, deadline));
    },
    rewrite: async (collection, rewrites) => {
      const model = modelFor(collection);
      const makes = rewrites.map((one) => rewriting(model, collection, one));
      return together(makes, (make) => calls.run(make));
    },
    lookUp: (collection, documents) => inParts(collection, documents, lookUpRows),
    importDocuments: (collection, documents) => inParts(collection, documents, importRows),
  };
}

function rewriting(
  model: DocumentModel,
  collection: Collection<object>,
  rewrite: Rewrite,
): (deadline: Deadline) => Promise<RewriteOutcome> {
  const { stored, body, schemaVersion, fields } = checkRewrite(collection, rewrite);
  const filter: Filter = {
    ...stampedRow(stored.stamp),
    version: { $eq: stored.document.version },
    schemaVersion: { $eq: stored.document.schemaVersion },
  };
  const update = { $set: { body, schemaVersion, ...valuesByColumn(collection, fields) } };
  return async (deadline) => {
    try {
      const { matchedCount } = await model.updateOne(queryOf<DocumentRow>(filter), update, {
        maxTimeMS: deadline.remaining(),
      });
      return matchedCount === 0 ? 'changed' : 'written';
    } catch (error) {
      if (isDuplicateKey(error)) return 'conflict';
      throw error;
    }
  };
}

/** Runs a bounded number at once; results in the order of the items. */
async function together<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += TOGETHER) {
    results.push(...(await Promise.all(items.slice(at, at + TOGETHER).map(run))));
  }
  return results;
}
