// The published limits of media, files and training are keywords of the document: a body that is refused is none of its
// schema's, and one that passes is. Lists and texts of addresses are parameters.
import { readFile } from 'node:fs/promises';
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { at, merged, ROWS } from '../contract/media-limit-rows.ts';
import type { Json, JsonObject } from '../contract/runner.ts';

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: JsonObject;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonObject }>> };
}

const document = JSON.parse(
  await readFile(new URL('../../gen/openapi.json', import.meta.url), 'utf8'),
) as JsonObject & { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'document', ...document });

const isOf = (schema: JsonObject, value: Json): boolean =>
  ajv.validate(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as JsonObject, value);

/** What the document says of the method's body, or of the parameter. */
function schemaOf(
  method: DescMethod,
  name: string,
): { readonly schema: JsonObject; readonly isBody: boolean } {
  const { pattern } = getOption(method, http);
  const operation = document.paths[String(pattern.value)]?.[String(pattern.case)];
  const body = operation?.requestBody?.content['application/json']?.schema;
  if (body !== undefined) return { schema: body, isBody: true };
  return { schema: operation!.parameters!.find((one) => one.name === name)!.schema, isBody: false };
}

/** Rules over two members, which keywords cannot say: they are told in words. */
const IN_WORDS = new Set(['chunking_strategy.static.chunk_overlap_tokens 401', 'file_ids []']);

for (const [method, body, path, refused, passed] of ROWS) {
  test(`${method.name}: ${path}, with ${Object.keys(body).length} other members, is limited in the document`, (t) => {
    const { schema, isBody } = schemaOf(method, path);
    const whole = (value: Json): Json => (isBody ? merged(body, at(path, value)) : value);
    for (const value of refused) {
      if (IN_WORDS.has(`${path} ${JSON.stringify(value)}`)) continue;
      t.false(isOf(schema, whole(value)), JSON.stringify(value).slice(0, 60));
    }
    for (const value of passed) t.true(isOf(schema, whole(value)), ajv.errorsText());
  });
}
