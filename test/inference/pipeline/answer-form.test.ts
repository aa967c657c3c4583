// A streamed request may be answered with events or with one JSON value, under whatever type.
import test from 'ava';
import { answerForm } from '../../../src/inference/pipeline/answer-form.ts';
import type { StreamedAnswer } from '../../../src/lib/egress/outbound.ts';

/** An answer of this type in these pieces, and whether its body was ended. */
function answer(type: string | undefined, pieces: readonly string[]) {
  const seen = { ended: false };
  async function* body(): AsyncIterable<Uint8Array> {
    try {
      for (const piece of pieces) yield Buffer.from(piece, 'latin1');
    } finally {
      seen.ended = true;
    }
  }
  const made: StreamedAnswer = { status: 200, rawHeaders: [], header: () => type, body: body() };
  return { made, seen };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString('latin1');
}

const CASES: readonly (readonly [type: string | undefined, pieces: readonly string[], isWhole: boolean])[] = [
  ['text/event-stream', ['{"a":1}'], false],
  ['text/event-stream; charset=utf-8', ['data: {}\n\n'], false],
  ['application/vnd.amazon.eventstream', ['\x00\x00\x00{'], false],
  ['application/json', ['data: {}\n\n'], false],
  ['application/json', [': keep-alive\n', '\ndata: {}\n\n'], false],
  ['application/json', ['{"a"', ':1}'], true],
  ['application/json', ['\r\n \n', '\xef\xbb', '\xbf', ' [1]'], true],
  ['application/json', [], true],
  ['application/octet-stream', ['{"error":"x"}'], true],
  ['application/octet-stream', ['event: x\ndata: {}\n\n'], false],
  [undefined, ['', '\n', '{}'], true],
  [undefined, ['<html>'], false],
  ['text/plain', [], false],
];
for (const [type, pieces, isWhole] of CASES)
  test(`${type}: ${JSON.stringify(pieces)}`, async (t) => {
    const { made, seen } = answer(type, pieces);
    const form = await answerForm(made);
    t.is(form.isWhole, isWhole);
    t.is(await textOf(form.body), pieces.join(''));
    t.true(seen.ended);
  });

test('a body that is left early is ended', async (t) => {
  const { made, seen } = answer('text/plain', ['data: 1\n\n', 'data: 2\n\n']);
  const { body } = await answerForm(made);
  for await (const _ of body) break;
  t.true(seen.ended);
});
