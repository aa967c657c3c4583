// Every published limit of images, audio, files, uploads, batches, fine-tuning, vector stores, assistants, OCR, videos and
// containers: a value beyond it is refused by the member's name before the provider is called, over every protocol, and what
// stands at the limit passes. OpenAI's own words are judged where OpenAI is called, and there alone.
import { inspect } from 'node:util';
import type { DescMethod } from '@bufbuild/protobuf';
import test from 'ava';
import { OcrService } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import { at, isObject, merged, ROWS } from './media-limit-rows.ts';
import {
  type Bench,
  type Case,
  exchange,
  invalid,
  type Json,
  type JsonObject,
  runCases,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const { createOcr } = OcrService.method;

const short = (value: Json): string => {
  const whole = JSON.stringify(value);
  return whole.length > 40 ? `${whole.slice(0, 30)}… (${whole.length})` : whole;
};

/** Where a list is wrong that is not wrong as a whole. */
const FIELDS: Readonly<Record<string, string>> = { '[""]': 'file_ids[0]' };

const headers = (method: DescMethod): Record<string, string> => ({
  'x-gateway-provider': method === createOcr ? 'mistral-ai' : 'openai-compatible',
});
const named = (method: DescMethod, path: string, value: Json): string =>
  `${method.name}: ${path} of ${short(value)}`;

runCases(
  test,
  () => bench,
  ROWS.flatMap(([method, body, path, refused]): Case[] =>
    refused.map(
      (value): Case => ({
        name: named(method, path, value),
        method,
        headers: headers(method),
        body: merged(body, at(path, value)),
        refused: invalid(FIELDS[JSON.stringify(value)] ?? path),
      }),
    ),
  ),
);

// The provider has most of these paths not: what passes has reached it.
for (const [method, body, path, , passed] of ROWS)
  for (const value of passed)
    for (const protocol of ['rest', 'grpc'] as const)
      test(`${named(method, path, value)} passes [${protocol}]`, async (t) => {
        const prefix = bench.mark();
        const one = { method, headers: headers(method), body: merged(body, at(path, value)) };
        const { error } = await exchange(bench, one, protocol, prefix);
        t.is(bench.sentTo(prefix).length, 1, inspect(error));
        const [seen] = bench.sentTo(prefix);
        if (seen!.method !== 'POST') return;
        const sent = JSON.parse(seen!.body.toString()) as JsonObject;
        const steps = path.split('.');
        t.deepEqual(
          steps.reduce<Json | undefined>((of, step) => (isObject(of) ? of[step] : undefined), sent),
          value,
        );
      });
