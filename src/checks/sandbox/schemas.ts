// JSON Schemas compiled and kept, in a worker only: ajv writes code from a schema and has no bound of its own.
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LruCache } from '../../lib/lru-cache.ts';
import { CheckFailure } from '../contract/check.ts';
import { excerptOfText, excerptOfValue } from './excerpt.ts';
import { FORMATS } from './formats.ts';
import { jsonIn } from './json-in-text.ts';
import type { SchemaResult, SchemaViolation } from './sandbox.ts';

const MOST_KEPT = 50;
const MOST_VIOLATIONS = 20;

type Validate = ReturnType<Ajv['compile']>;
const kept = new LruCache<Validate>(MOST_KEPT);

/** Compiles once what ajv makes on first use, before a worker reports ready: the deadline is for users' work only. */
export function warm(): void {
  compile({ type: 'object' });
}

/** Validates the JSON in each text. @param schema as JSON text */
export function validateTexts(schema: string, texts: readonly string[]): SchemaResult[] {
  const validate = compiled(schema);
  return texts.map((text) => {
    const values = jsonIn(text);
    let violations: readonly SchemaViolation[] | undefined;
    for (const value of values) {
      if (validate(value))
        return { found: true, valid: true, matched: excerptOfValue(value), violations: [] };
      violations ??= violationsOf(validate);
    }
    return {
      found: values.length > 0,
      valid: false,
      matched: excerptOfValue(values[0] ?? null),
      violations: violations ?? [],
    };
  });
}

function violationsOf({ errors }: Validate): SchemaViolation[] {
  return (errors ?? []).slice(0, MOST_VIOLATIONS).map(({ instancePath, message }) => ({
    path: excerptOfText(instancePath),
    message: excerptOfText(message ?? 'is not valid'),
  }));
}

function compiled(schema: string): Validate {
  const known = kept.get(schema);
  if (known !== undefined) return known;
  const validate = compile(JSON.parse(schema));
  kept.set(schema, validate);
  return validate;
}

/** A compiler of its own for every schema: what one registers under an `$id`, another must not see. */
function compile(schema: object): Validate {
  const options = {
    strict: false,
    allErrors: true,
    logger: false,
    addUsedSchema: false,
    ownProperties: true,
    formats: FORMATS,
  } as const;
  try {
    return compilerOf(schema, options).compile(schema);
  } catch (error) {
    throw new CheckFailure('InvalidSchemaError', error instanceof Error ? error.message : 'cannot be read');
  }
}

function compilerOf(schema: object, options: ConstructorParameters<typeof Ajv>[0]): Ajv | Ajv2020 {
  const draft = '$schema' in schema && typeof schema.$schema === 'string' ? schema.$schema : '';
  if (draft.includes('draft-07') || draft.includes('draft-06')) return new Ajv(options);
  return draft.includes('2019-09') ? new Ajv2019(options) : new Ajv2020(options);
}
