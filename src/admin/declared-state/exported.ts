// Parts of stored records as files have them: no secrets, nothing that the gateway works out, nothing that is the default.
import type { Directory } from '../../access/directory.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { isSecretMember, OPEN_MEMBERS } from '../kit/masked-secrets.ts';
import type { Kind } from './kind.ts';

/** The object without members that say nothing. */
export function saying(members: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null && !isEmpty(value)),
  ) as JsonObject;
}

function isEmpty(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Texts that the create call takes and the body keeps openly under the same name: new fields of that kind need no line. */
export function textsOf(
  { create, collection }: Pick<Kind, 'create' | 'collection'>,
  { body }: Document<object>,
): JsonObject {
  const kept = body as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    create.input.fields.flatMap(({ name, localName }): [string, string][] => {
      const value = kept[localName];
      const isOpen = collection.secret.every(({ path }) => path !== localName);
      return typeof value === 'string' && isOpen ? [[name, value]] : [];
    }),
  );
}

const WORKED_OUT = new Set(['counted_since', 'next_usage_reset_at']);

/** A budget, or budgets. */
export function limitsOf<T extends Json | undefined>(limits: T): T {
  if (typeof limits !== 'object' || limits === null) return limits;
  if (Array.isArray(limits)) return limits.map((limit: Json) => limitsOf(limit)) as unknown as T;
  return Object.fromEntries(
    Object.entries(limits as JsonObject).filter(([name]) => !WORKED_OUT.has(name)),
  ) as unknown as T;
}

/** The JSON without members that hold secrets. */
export function withoutSecrets(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => withoutSecrets(item));
  return Object.fromEntries(
    Object.entries(value as JsonObject).flatMap(([name, item]): [string, Json][] => {
      if (OPEN_MEMBERS.has(name)) return [[name, item]];
      return isSecretMember(name) ? [] : [[name, withoutSecrets(item)]];
    }),
  );
}

/** Slug of a workspace; undefined: the record is the organisation's. */
export function slugOfWorkspace(
  directory: Directory,
  organisationId: string,
  id: string | undefined,
): string | undefined {
  return id === undefined ? undefined : (directory.workspace(organisationId, id)?.slug ?? id);
}
