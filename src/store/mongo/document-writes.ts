// One write of a document: checked first, then made, inside a transaction or as one atomic command.
import type mongoose from 'mongoose';
import type { TenantScope } from '../../call/scope.ts';
import { fail } from '../../lib/errors.ts';
import type { Collection } from '../collection.ts';
import {
  bodyText,
  type ColumnValue,
  checkInteger,
  checkName,
  checkScope,
  indexedValues,
  narrowed,
} from '../document-checks.ts';
import type { WriteOperation } from '../documents.ts';
import type { Deadline } from './calls.ts';
import { columnOf } from './columns.ts';
import type { DocumentModel, DocumentRow } from './document-schema.ts';
import { type Filter, queryOf, tenantFilter } from './page-filter.ts';

/** A write with nothing in it that was not checked. */
export type RowWrite =
  | { readonly kind: 'insert'; readonly row: DocumentRow }
  | {
      readonly kind: 'change';
      readonly mine: Filter;
      /** Undefined: whichever version it has. */
      readonly version: number | undefined;
      readonly set: Partial<DocumentRow>;
    };

/** Checks an operation. Throws `validation_failed` naming the field, before anything is written. */
export function prepareWrite(scope: TenantScope, operation: WriteOperation): RowWrite {
  const { organisationId, workspaceId } = checkScope(scope);
  const { collection } = operation;
  const { schemaVersion } = collection;
  if (operation.kind === 'insert') {
    const { document } = operation;
    const workspace = narrowed(workspaceId, document.workspaceId);
    const body = bodyText(document.body);
    const createdAt = checkInteger('createdAt', document.createdAt, 0);
    const slug = document.slug === undefined ? null : checkName('slug', document.slug);
    const row: DocumentRow = {
      organisationId,
      workspaceId: workspace,
      id: checkName('id', document.id),
      slug,
      version: 1,
      archived: false,
      createdAt,
      updatedAt: createdAt,
      schemaVersion,
      body,
      ...columnsOf(collection, document.body),
    };
    return { kind: 'insert', row };
  }
  const workspace = narrowed(workspaceId, operation.workspaceId);
  const id = checkName('id', operation.id);
  const mine = { ...tenantFilter(organisationId, workspace), id, archived: { $eq: false } };
  if (operation.kind === 'update') {
    const { change } = operation;
    const body = bodyText(change.body);
    const updatedAt = checkInteger('updatedAt', change.updatedAt, 0);
    const slug = typeof change.slug === 'string' ? checkName('slug', change.slug) : change.slug;
    const version = checkInteger('version', operation.version, 1);
    const columns = columnsOf(collection, change.body);
    const set = { body, updatedAt, schemaVersion, ...columns, ...(slug === undefined ? {} : { slug }) };
    return { kind: 'change', mine, version, set };
  }
  const { order } = operation;
  const version = order.version === undefined ? undefined : checkInteger('version', order.version, 1);
  const updatedAt = checkInteger('updatedAt', order.updatedAt, 0);
  return { kind: 'change', mine, version, set: { archived: true, updatedAt } };
}

function columnsOf(collection: Collection<object>, body: object): Record<`f_${string}`, ColumnValue> {
  const values = indexedValues(collection, body);
  return Object.fromEntries(
    collection.fields.map((field, index) => [columnOf(field), values[index] ?? null]),
  );
}
/** Makes a write and answers the document as stored. Throws `conflict`, `version_conflict` or `not_found`. */
export async function makeWrite(
  model: DocumentModel,
  write: RowWrite,
  deadline: Deadline,
  session?: mongoose.mongo.ClientSession,
): Promise<DocumentRow> {
  const bound = { maxTimeMS: deadline.remaining(), ...(session ? { session } : {}) };
  if (write.kind === 'insert') {
    await model.insertOne({ ...write.row }, bound);
    return write.row;
  }
  const { version, set } = write;
  const mine = queryOf<DocumentRow>(write.mine);
  const filter = version === undefined ? mine : { ...mine, version: { $eq: version } };
  const update = { $set: set, $inc: { version: 1 } };
  const written = await model
    .findOneAndUpdate(filter, update, { ...bound, returnDocument: 'after' })
    .lean<DocumentRow>();
  if (written) return written;
  const present = await model.findOne(mine, { version: 1 }, bound).lean<Pick<DocumentRow, 'version'>>();
  if (!present) throw fail('not_found', 'there is no such document');
  const message = `is ${present.version}, not ${version}`;
  throw fail('version_conflict', `the document was changed meanwhile: its version ${message}`, {
    violations: [{ field: 'version', rule: 'version', message }],
  });
}
