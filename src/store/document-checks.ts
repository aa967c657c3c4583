// What both adapters check before a driver sees a value: scope, names, bodies, indexed values.

import type { TenantScope } from '../call/scope.ts';
import { fail, invalidField } from '../lib/errors.ts';
import type { Collection, FieldType, IndexedField } from './collection.ts';
import { LIMITS } from './documents.ts';

/** What a column holds. */
export type ColumnValue = string | number | null;

/** A text that stores keep as it is: not empty, bounded, no null byte, no half surrogate. */
export function checkName(field: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidField(field, 'must be a string', 'type');
  if (value === '') throw invalidField(field, 'must not be empty', 'min_len');
  if (value.length > LIMITS.name)
    throw invalidField(field, `is longer than ${LIMITS.name} characters`, 'max_len');
  return checkText(field, value);
}

function checkText(field: string, value: string): string {
  if (value.includes('\0')) throw invalidField(field, 'must not contain a null byte', 'null_byte');
  if (!value.isWellFormed()) throw invalidField(field, 'is not well-formed Unicode', 'unicode');
  return value;
}

/** A whole number that survives both stores. */
export function checkInteger(field: string, value: unknown, min: number): number {
  if (!Number.isSafeInteger(value)) throw invalidField(field, 'must be an integer', 'type');
  if ((value as number) < min) throw invalidField(field, `must be ${min} or more`, 'gte');
  return value as number;
}

/** The scope's parts; the workspace is null for the whole organisation. */
export function checkScope(scope: TenantScope): { organisationId: string; workspaceId: string | null } {
  return {
    organisationId: checkName('organisationId', scope.organisationId),
    workspaceId: scope.workspaceId === undefined ? null : checkName('workspaceId', scope.workspaceId),
  };
}

/** The workspace that one operation is bound to: the scope's, or a narrower one. */
export function narrowed(scopeWorkspace: string | null, asked: string | undefined): string | null {
  if (asked === undefined) return scopeWorkspace;
  const workspaceId = checkName('workspaceId', asked);
  if (scopeWorkspace !== null && scopeWorkspace !== workspaceId) {
    throw invalidField('workspaceId', 'is not the workspace of the call', 'scope');
  }
  return workspaceId;
}

/** A body as JSON text: an object, without null bytes, within the size. */
export function bodyText(body: object): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (cause) {
    throw fail('validation_failed', 'body: is not JSON', {
      param: 'body',
      violations: [{ field: 'body', rule: 'json', message: 'is not JSON' }],
      cause,
    });
  }
  if (text === undefined || text[0] !== '{') throw invalidField('body', 'must be an object', 'type');
  const long = text.length > LIMITS.documentBytes;
  if (long || (text.length * 3 > LIMITS.documentBytes && Buffer.byteLength(text) > LIMITS.documentBytes)) {
    throw fail('body_too_large', `the document is larger than ${LIMITS.documentBytes} bytes`, {
      param: 'body',
    });
  }
  // An even number of backslashes before it makes it an escaped backslash and four digits.
  if (text.includes('\\u0000') && /(?<!\\)(?:\\\\)*\\u0000/.test(text)) {
    throw invalidField('body', 'must not contain a null byte', 'null_byte');
  }
  return text;
}

/** The values of the declared fields, in the declaration's order. */
export function indexedValues(collection: Collection<object>, body: object): ColumnValue[] {
  return collection.fields.map((field) => {
    const value = valueAt(body, field.path ?? field.name);
    if (value !== undefined && value !== null) return columnValue(field.name, field.type, value);
    if (!field.nullable) throw invalidField(field.name, 'is required', 'required');
    return null;
  });
}

function valueAt(body: object, path: string): unknown {
  let value: unknown = body;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** A value as its field's column holds it: of the declared type, never an object, so never query syntax. */
export function columnValue(field: string, type: FieldType, value: unknown): string | number {
  if (type === 'text') {
    if (typeof value !== 'string') throw invalidField(field, 'must be a string', 'type');
    if (value.length > LIMITS.indexedText) {
      throw invalidField(field, `is longer than ${LIMITS.indexedText} characters`, 'max_len');
    }
    return checkText(field, value);
  }
  if (type === 'integer') {
    if (typeof value === 'boolean') return Number(value);
    if (!Number.isSafeInteger(value)) throw invalidField(field, 'must be an integer', 'type');
    return value as number;
  }
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidField(field, 'must be a number', 'type');
  return value;
}

/** The field of a look-up over all tenants, which must be declared for it. */
export function globalField(collection: Collection<object>, name: string): IndexedField {
  const field = collection.fields.find((candidate) => candidate.name === name);
  if (!field?.global)
    throw invalidField(name, `is no field of ${collection.name} to look up globally`, 'declared');
  return field;
}
