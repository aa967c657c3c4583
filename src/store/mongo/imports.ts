// Documents written as they are, many with one command.
import type { Collection } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import type { Document } from '../documents.ts';
import type { ImportOutcome, LookUp } from '../maintenance.ts';
import { checkDocument } from '../maintenance-checks.ts';
import type { Deadline } from './calls.ts';
import { columnOf } from './columns.ts';
import type { DocumentModel, DocumentRow } from './document-schema.ts';
import { areDuplicateKeys } from './failures.ts';
import { type Filter, queryOf } from './page-filter.ts';
import { MAJORITY } from './transaction.ts';

/** A document as it is stored, without its indexed values. */
type Bare = Omit<DocumentRow, `f_${string}`>;

export interface ImportedRow {
  readonly bare: Bare;
  readonly row: DocumentRow;
}

/** Inserts what is not there, all at once, and looks again at what was refused. */
export async function importRows(
  model: DocumentModel,
  rows: readonly ImportedRow[],
  deadline: Deadline,
): Promise<ImportOutcome[]> {
  const before = await lookUpRows(model, rows, deadline);
  const missing = rows.filter((_, index) => before[index] === 'absent');
  const inserted = missing.length === 0 || (await insertAll(model, missing, deadline));
  const after = inserted ? [] : await lookUpRows(model, missing, deadline);
  let next = 0;
  return before.map((outcome) => {
    if (outcome !== 'absent') return outcome;
    const found = after[next++] ?? 'present';
    if (found === 'present') return 'written';
    return found === 'absent' ? 'conflict' : found;
  });
}

/** False when some were refused: their place or a unique value is taken, or a repeated command met its own. */
async function insertAll(
  model: DocumentModel,
  rows: readonly ImportedRow[],
  deadline: Deadline,
): Promise<boolean> {
  try {
    await model.collection.insertMany(
      rows.map(({ row }) => ({ ...row })),
      { ordered: false, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY },
    );
    return true;
  } catch (error) {
    if (!areDuplicateKeys(error)) throw error;
    return false;
  }
}

/** For each row what is there under its key. */
export async function lookUpRows(
  model: DocumentModel,
  rows: readonly { readonly bare: Bare }[],
  deadline: Deadline,
): Promise<LookUp[]> {
  const found = new Map<string, Bare>();
  for (const [organisationId, own] of Map.groupBy(rows, ({ bare }) => bare.organisationId)) {
    const filter: Filter = { organisationId, id: { $in: own.map(({ bare }) => bare.id) } };
    const there = await model
      .find(queryOf<DocumentRow>(filter))
      .maxTimeMS(deadline.remaining())
      .lean<DocumentRow[]>();
    for (const row of there) found.set(JSON.stringify([organisationId, row.id]), row);
  }
  return rows.map(({ bare }) => {
    const there = found.get(JSON.stringify([bare.organisationId, bare.id]));
    if (there === undefined) return 'absent';
    const same = Object.entries(bare).every(([key, value]) => there[key as keyof Bare] === value);
    return same ? 'present' : 'differs';
  });
}

/** A document with everything checked. */
export function importedRow(collection: Collection<object>, document: Document<object>): ImportedRow {
  const { body, fields } = checkDocument(collection, document);
  const { organisationId, id, version, createdAt, updatedAt, schemaVersion } = document;
  const bare: Bare = {
    organisationId,
    workspaceId: document.workspaceId ?? null,
    id,
    slug: document.slug ?? null,
    version,
    archived: document.status === 'archived',
    createdAt,
    updatedAt,
    schemaVersion,
    body,
  };
  return { bare, row: { ...bare, ...valuesByColumn(collection, fields) } };
}

/** Indexed values under their columns' names. */
export function valuesByColumn(
  collection: Collection<object>,
  values: readonly ColumnValue[],
): Record<`f_${string}`, ColumnValue> {
  return Object.fromEntries(
    collection.fields.map((field, index) => [columnOf(field), values[index] ?? null]),
  );
}
