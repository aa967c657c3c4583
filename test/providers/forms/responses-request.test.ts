// Requests of the Responses API in the chat form, and what that form has no word for. One file is one case; with
// GOLDEN_UPDATE=1 the expectations are written instead: read them before they are kept.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '@bufbuild/protobuf';
import test from 'ava';
import { CreateResponseRequestSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { carriesOf } from '../../../src/providers/forms/carries.ts';
import { toChat } from '../../../src/providers/forms/responses/request.ts';
import { codec } from '../../../src/rest/codec.ts';
import { targetOf } from '../support/target.ts';

const FOLDER = path.join(import.meta.dirname, 'responses');

interface Case {
  readonly provider: string;
  readonly stream?: boolean;
  readonly request: JsonObject;
  expected: unknown;
}

function outcome({ provider: id, request, stream = false }: Case): unknown {
  const { provider } = targetOf(id);
  // As it comes from a caller: checked, and back as JSON.
  const message = codec.decodeRequest(CreateResponseRequestSchema, request);
  const json = codec.encode(CreateResponseRequestSchema, message) as JsonObject;
  try {
    const carries = carriesOf(provider, String(request.model ?? ''));
    return toChat(json, { dialect: provider.dialect, provider: provider.id, carries }, stream);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { status: thrown.status, param: thrown.details.param, message: thrown.message };
  }
}

for (const file of readdirSync(FOLDER)) {
  test(file, (t) => {
    const where = path.join(FOLDER, file);
    const own = JSON.parse(readFileSync(where, 'utf8')) as Case;
    const actual = JSON.parse(JSON.stringify(outcome(own))) as unknown;
    if (process.env.GOLDEN_UPDATE === '1') {
      own.expected = actual;
      writeFileSync(where, `${JSON.stringify(own, null, 2)}\n`);
    }
    t.deepEqual(actual, own.expected);
  });
}
