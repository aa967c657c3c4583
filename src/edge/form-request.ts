// A form over HTTP as the messages of a client-streaming method: head, files and their bytes, tail. See the option
// `form_body` of the contract: an operation that takes a form declares it and reads the same messages over every protocol.
import type { IncomingMessage } from 'node:http';
import { create, type DescMessage, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import type { Call } from '../call/call.ts';
import { fail } from '../lib/errors.ts';
import { IncomingBody } from '../lib/incoming/incoming-body.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import type { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import { codec } from '../rest/codec.ts';
import { type FormText, formJson } from '../rest/form-json.ts';
import type { FormShape } from '../rest/form-shape.ts';
import { isTooHeavy } from '../rest/json-weight.ts';
import { bindPath } from '../rest/query.ts';
import { readForm } from './read-form.ts';

/**
 * The messages of a form's request: `head` with the texts before the first file and the path's values, then for each file
 * `file` and its bytes as `chunk`, then `tail` with the texts after the first file, where there are any.
 * @throws GatewayError validation_failed for texts that are not of the message; what `readForm` throws
 */
export async function* formRequest(
  { pace, budget }: { readonly pace: Pace; readonly budget: ReadingBudget },
  call: Call,
  req: IncomingMessage,
  input: DescMessage,
  { head }: FormShape,
  values: ReadonlyMap<string, string>,
): AsyncGenerator<Message> {
  if ((req.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', 'content-encoding: a form must be sent as it is', {
      param: 'content-encoding',
    });
  const body = new IncomingBody(req, {
    pace,
    reading: () => budget.open(call.principal?.keyId),
    whole: false,
  });
  const message = (name: string, value: unknown): Message =>
    create(input, { kind: { case: name, value } } as MessageInitShape<DescMessage>);
  const texts: FormText[] = [];
  let headed = false;
  const headOf = async (): Promise<Message> => {
    headed = true;
    const json = await jsonOf(head, texts.splice(0));
    return message('head', codec.decodeRequest(head, bindPath(head, json, values)));
  };
  for await (const member of readForm(body, req.headers['content-type'] ?? '')) {
    if (member.kind === 'text') {
      texts.push(member);
      continue;
    }
    if (!headed) yield await headOf();
    const { name, filename, contentType } = member;
    yield message('file', { name, filename, contentType });
    for await (const chunk of member.bytes) yield message('chunk', chunk);
  }
  if (!headed) yield await headOf();
  else if (texts.length > 0) yield message('tail', codec.decodeRequest(head, await jsonOf(head, texts)));
}

/** @throws GatewayError body_too_large for texts that are too much JSON together; as `formJson` */
async function jsonOf(head: DescMessage, texts: readonly FormText[]): Promise<ReturnType<typeof formJson>> {
  const json = texts.filter(({ value }) => /^\s*[[{]/.test(value)).map(({ value }) => value);
  if (json.length > 0 && (await isTooHeavy(Buffer.from(json.join('\n')))))
    throw fail('body_too_large', 'the texts of the form have too many members and items');
  return formJson(head, texts);
}
