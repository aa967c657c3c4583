// Secrets in declared state: never plain, only by the name of a variable or of a secret reference.
import type { Violation } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { isSecretMember, OPEN_MEMBERS } from '../kit/masked-secrets.ts';

/** A record with its secrets in place. */
export interface ResolvedSecrets {
  readonly members: JsonObject;
  /** The values that were filled in, in their order. */
  readonly values: readonly string[];
  /** Values that come from secret references: the member's path and the reference's slug. */
  readonly references: readonly { readonly path: string; readonly slug: string }[];
  readonly faults: readonly Violation[];
  /** Texts that stand where secrets belong: they are never repeated. */
  readonly plain: readonly string[];
}

const HOW = 'must be { env: NAME } or { reference: slug }: a secret does not stand in the file';
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * @param isSecret whether a member at a path of the record holds a secret, in addition to those whose names say so
 * @param variable the value of a variable; undefined: it is not set
 * @param path the record's place, for faults
 */
export function resolveSecrets(
  record: JsonObject,
  isSecret: (path: string) => boolean,
  variable: (name: string) => string | undefined,
  path: string,
): ResolvedSecrets {
  const faults: Violation[] = [];
  const values: string[] = [];
  const plain: string[] = [];
  const references: { path: string; slug: string }[] = [];
  const wrong = (at: string, rule: string, message: string): undefined => {
    faults.push({ field: `${path}.${at}`, rule, message });
    return undefined;
  };

  const named = (value: JsonObject, at: string): Json | undefined => {
    const [[member, name] = [], ...more] = Object.entries(value);
    if (more.length > 0 || typeof name !== 'string') return wrong(at, 'secret', HOW);
    if (member === 'reference') {
      references.push({ path: at, slug: name });
      return undefined;
    }
    if (member !== 'env') return wrong(at, 'secret', HOW);
    if (!VARIABLE.test(name)) return wrong(`${at}.env`, 'variable', 'must be the name of a variable');
    const found = variable(name);
    if (found === undefined || found === '')
      return wrong(`${at}.env`, 'variable', `the variable ${name} is not set where the file is read`);
    values.push(found);
    return found;
  };

  const secret = (value: Json, at: string): Json | undefined => {
    if (value === null || value === '' || typeof value === 'number' || typeof value === 'boolean')
      return value;
    if (typeof value === 'object' && !Array.isArray(value)) {
      if (isNamed(value as JsonObject)) return named(value as JsonObject, at);
      return object(value as JsonObject, at, true);
    }
    plain.push(...textsIn(value));
    return wrong(at, 'secret', HOW);
  };

  const object = (value: JsonObject, at: string, within: boolean): JsonObject => {
    const out: Record<string, Json> = {};
    for (const [name, item] of Object.entries(value)) {
      const inner = at === '' ? name : `${at}.${name}`;
      const isOpen = OPEN_MEMBERS.has(name) || name === 'secret_mappings';
      const isOne = !isOpen && (within || isSecret(inner) || isSecretMember(name));
      const read = isOne ? secret(item, inner) : isOpen ? item : walk(item, inner);
      if (read !== undefined) out[name] = read;
    }
    return out;
  };

  const walk = (value: Json, at: string): Json | undefined => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item: Json, i) => walk(item, `${at}[${i}]`) ?? null);
    // Headers may say nothing secret, and may be named all the same.
    if (/headers$/i.test(at)) return headers(value as JsonObject, at);
    return object(value as JsonObject, at, false);
  };

  const headers = (value: JsonObject, at: string): JsonObject => {
    const out: Record<string, Json> = {};
    for (const [name, item] of Object.entries(value)) {
      const inner = `${at}.${name}`;
      const isOne = isSecretMember(name) || /^(?:x-api-key|cookie)$/i.test(name) || typeof item === 'object';
      const read = isOne ? secret(item, inner) : item;
      if (read !== undefined) out[name] = read;
    }
    return out;
  };

  return { members: object(record, '', false), values, references, faults, plain };
}

function isNamed(value: JsonObject): boolean {
  return Object.keys(value).some((name) => name === 'env' || name === 'reference');
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((item: Json) => textsIn(item));
}
