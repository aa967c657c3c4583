// Documents of an older schema version, brought to the collection's as they are read.
import { fail, type GatewayError } from '../lib/errors.ts';
import type { Collection, JsonObject } from './collection.ts';
import { type ColumnValue, indexedValues } from './document-checks.ts';
import type { Document } from './documents.ts';

/** The cause of the refusal of a document that this program is too old for. */
export class NewerSchema extends Error {
  readonly collection: string;
  readonly found: number;
  readonly known: number;

  constructor(collection: string, found: number, known: number) {
    super(`${collection}: schema version ${found}, known up to ${known}`);
    this.name = 'NewerSchema';
    this.collection = collection;
    this.found = found;
    this.known = known;
  }
}

/** Whether an error says that the data is newer than this program: another instance may serve the call. */
export function isNewerSchema(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof NewerSchema;
}

/** `store_unavailable`: what this program does not understand it neither shows nor writes. */
export function newerSchema(collection: Collection<object>, found: number): GatewayError {
  const { name, schemaVersion } = collection;
  return fail(
    'store_unavailable',
    `the data of ${name} has schema version ${found}, made by a newer version of this program; this one knows ` +
      `${schemaVersion}: start the newer one`,
    { cause: new NewerSchema(name, found, schemaVersion) },
  );
}

/**
 * A body in the collection's shape, from the shape of the version given: its upgrades one after the other. Throws
 * `store_unavailable` (see `isNewerSchema`) for a newer version, `internal` when an upgrade fails.
 */
export function upgradedBody(collection: Collection<object>, schemaVersion: number, body: object): object {
  if (schemaVersion > collection.schemaVersion) throw newerSchema(collection, schemaVersion);
  let upgraded = body;
  for (let from = schemaVersion; from < collection.schemaVersion; from++) {
    const step = collection.upgrades[from];
    if (step === undefined) continue;
    try {
      upgraded = step(upgraded as JsonObject);
    } catch (cause) {
      const message = `a document of ${collection.name} cannot be upgraded from schema version ${from}`;
      throw fail('internal', message, { cause });
    }
  }
  return upgraded;
}

/** A document as services see it: in the collection's shape. */
export function upgraded<B extends object>(
  collection: Collection<object>,
  document: Document<object>,
): Document<B> {
  const { schemaVersion } = collection;
  if (document.schemaVersion === schemaVersion) return document as Document<B>;
  const body = upgradedBody(collection, document.schemaVersion, document.body) as B;
  return { ...document, schemaVersion, body };
}

/** A body that cannot be upgraded counts as empty here: its values are unknown, and it must not be lost for that. */
function upgradable(collection: Collection<object>, schemaVersion: number, body: object): object {
  try {
    return upgradedBody(collection, schemaVersion, body);
  } catch (error) {
    if (isNewerSchema(error)) throw error;
    return {};
  }
}

/**
 * The values by which a stored body is found, in the declaration's order: those of its upgraded form. Null for what
 * a body does not have or has in another type: it was right when it was written.
 */
export function storedValues(
  collection: Collection<object>,
  schemaVersion: number,
  body: object,
): ColumnValue[] {
  const current = upgradable(collection, schemaVersion, body);
  return collection.fields.map((field) => {
    try {
      return indexedValues({ ...collection, fields: [field] }, current)[0] ?? null;
    } catch {
      return null;
    }
  });
}
