// What both adapters check of a maintenance call, and the values by which what is written is found.
import { invalidField } from '../lib/errors.ts';
import type { Collection } from './collection.ts';
import { bodyText, type ColumnValue, checkInteger, checkName } from './document-checks.ts';
import type { Document } from './documents.ts';
import { type Rewrite, SCAN_LIMITS, type ScanRequest, type StoredDocument } from './maintenance.ts';
import { storedValues } from './upgrades.ts';

/** @param position the form of a position of this adapter. */
export function checkScan(request: ScanRequest, position: RegExp): ScanRequest {
  const { after, olderThan } = request;
  const limit = checkInteger('limit', request.limit, 1);
  if (limit > SCAN_LIMITS.documents) {
    throw invalidField('limit', `must be ${SCAN_LIMITS.documents} or less`, 'lte');
  }
  if (after !== undefined && !position.test(after)) throw invalidField('after', 'is none of ours', 'cursor');
  return {
    limit,
    ...(after === undefined ? {} : { after }),
    ...(olderThan === undefined ? {} : { olderThan: checkInteger('olderThan', olderThan, 1) }),
  };
}

/** A rewrite as it goes to the store: the body as text, with its version and indexed values. */
export function checkRewrite(
  collection: Collection<object>,
  { stored, body, schemaVersion = stored.document.schemaVersion }: Rewrite,
): {
  readonly stored: StoredDocument;
  readonly body: string;
  readonly schemaVersion: number;
  readonly fields: readonly ColumnValue[];
} {
  checkInteger('schemaVersion', schemaVersion, 1);
  return {
    stored,
    body: bodyText(body),
    schemaVersion,
    fields: storedValues(collection, schemaVersion, body),
  };
}

/** A document that is written unchanged: every part checked, the body as text, with its indexed values. */
export function checkDocument(
  collection: Collection<object>,
  document: Document<object>,
): { readonly body: string; readonly fields: readonly ColumnValue[] } {
  const { id, organisationId, workspaceId, slug, status, body, schemaVersion } = document;
  checkName('id', id);
  checkName('organisationId', organisationId);
  if (workspaceId !== undefined) checkName('workspaceId', workspaceId);
  if (slug !== undefined) checkName('slug', slug);
  if (status !== 'active' && status !== 'archived')
    throw invalidField('status', 'must be active or archived', 'in');
  checkInteger('version', document.version, 1);
  checkInteger('createdAt', document.createdAt, 0);
  checkInteger('updatedAt', document.updatedAt, 0);
  checkInteger('schemaVersion', schemaVersion, 1);
  return { body: bodyText(body), fields: storedValues(collection, schemaVersion, body) };
}
