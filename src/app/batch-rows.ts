// Rows of batches as calls: each goes through all interceptors, as its caller's own call would.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject, Message } from '@bufbuild/protobuf';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { KeyRing } from '../access/key-ring.ts';
import { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import { ENDPOINTS } from '../inference/batches/endpoints.ts';
import type { BatchRow } from '../inference/batches/rows.ts';
import type { RowAnswer } from '../inference/batches/run-batch.ts';
import type { RowHolds, RowsOf } from '../inference/batches/runner.ts';
import type { Admission } from '../ledger/limits/admission.ts';
import { estimateOf } from '../ledger/limits/estimate.ts';
import type { Holds } from '../ledger/limits/holds.ts';
import type { Rule } from '../ledger/limits/rule.ts';
import { fail, isForWantOfRoom, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import { jsonText, rawJsonOf } from '../lib/raw-json.ts';
import { timeOrderedId } from '../lib/time-ordered-id.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { codec } from '../rest/codec.ts';
import { errorBody } from '../rest/error-body.ts';
import { LIGHT_BYTES } from '../rest/json-weight.ts';
import type { InProcess } from '../rpc/in-process.ts';
import { principalOf } from './kept-principal.ts';

/** What rows are called with. */
export interface RowCallDeps {
  readonly transport: InProcess;
  readonly names: HeaderNames;
  readonly keys: KeyRing;
  readonly admission: Pick<Admission, 'admit' | 'settle'>;
  readonly holds: Pick<Holds, 'keep'>;
  /** The rules that a call of this principal meets. */
  readonly rulesFor: (call: Call, principal: Principal) => readonly Rule[];
}

/** Longest wait between two tries while limits have no room, in milliseconds. */
const MAX_WAIT_MS = 15_000;
/** Rows of one model whose money is held together. */
const GROUP = 100;

/** Makes rows into calls. */
export function rowCalls(deps: RowCallDeps) {
  const callOf = (rows: RowsOf): Call => {
    const { endpoint, caller, owner } = rows;
    const method = ENDPOINTS.get(endpoint)!;
    const headers = new GatewayHeaders(deps.names, headersOf(deps.names, rows));
    const call = new Call(method, {
      protocol: 'in-process',
      headers,
      httpMethod: 'POST',
      path: endpoint,
      remote: '',
    });
    const principal = principalOf(deps.keys, owner.organisationId, caller);
    call.identity = { principal, key: '', providerCredential: caller.providerCredential };
    call.repeats = true;
    return call;
  };

  async function call(rows: RowsOf, row: BatchRow): Promise<RowAnswer> {
    const { body, bytes } = row;
    const bodyBytes = bodyBytesOf(row);
    for (;;) {
      const one = callOf(rows);
      one.bodyBytes = bodyBytes;
      // The line was read in this turn of the event loop.
      if (bytes > LIGHT_BYTES) await nextTurn();
      try {
        const message = (): Message => codec.decodeRequest(one.method.input, body);
        const answer = await deps.transport.unary(one, message);
        return { status: one.record.status ?? 200, requestId: one.id, body: rowText(one, answer) };
      } catch (thrown) {
        const error = toGatewayError(thrown);
        const { reason, details } = error;
        if (isForWantOfRoom(error)) {
          await sleep(Math.min(details.retryAfterMs ?? 1000, MAX_WAIT_MS), undefined, {
            signal: rows.signal,
          });
          continue;
        }
        if (reason === 'validation_failed' && one.record.attempts.length === 0)
          return {
            status: 400,
            requestId: one.id,
            body: '',
            fault: faultOf(details.param, error.message, details.violations),
          };
        const shape = { plane: Plane.DATA, aliased: false, requestId: one.id };
        return { status: error.status, requestId: one.id, body: JSON.stringify(errorBody(error, shape)) };
      }
    }
  }

  async function hold(rows: RowsOf, wanted: AsyncIterable<BatchRow>): Promise<RowHolds> {
    const call = callOf(rows);
    const { principal } = call.identity!;
    const { organisationId } = principal;
    const rules = deps.rulesFor(call, principal).filter(({ kind }) => kind === 'budget');
    if (rules.length === 0) return NOTHING_HELD;
    const groups: { readonly model: string; readonly lines: Set<number>; input: number; output: number }[] =
      [];
    const openGroups = new Map<string, (typeof groups)[number]>();
    for await (const row of wanted) {
      const { line, body } = row;
      const model = typeof body.model === 'string' ? body.model : '';
      let group = openGroups.get(model);
      if (group === undefined || group.lines.size >= GROUP) {
        group = { model, lines: new Set(), input: 0, output: 0 };
        groups.push(group);
        openGroups.set(model, group);
      }
      const { input, output } = rowEstimate(call, row);
      group.lines.add(line);
      group.input += input;
      group.output += output;
    }
    const held = new Map<number, () => Promise<void>>();
    const release = async (): Promise<void> => {
      await Promise.all([...new Set(held.values())].map((free) => free()));
      held.clear();
    };
    try {
      for (const { model, lines, input, output } of groups) {
        const id = timeOrderedId();
        const ticket = await deps.admission.admit({
          id,
          organisationId,
          rules: rules.filter((rule) => rule.kind === 'budget' && rule.type !== 'requests'),
          estimate: { input, output },
          model: model === '' ? undefined : model,
          provider: call.headers.get('provider'),
          call: undefined,
        });
        const done = ticket.held ? deps.holds.keep(organisationId, id) : () => {};
        let free: Promise<void> | undefined;
        const freed = (): Promise<void> => {
          free ??= deps.admission.settle(ticket, {
            attempts: [],
            failed: true,
            entry: undefined,
            done,
            unwritten: () => {},
          });
          return free;
        };
        for (const line of lines) held.set(line, freed);
      }
    } catch (error) {
      await release();
      throw error;
    }
    return {
      async begins({ line }) {
        await held.get(line)?.();
      },
      release,
    };
  }

  return { call, hold };
}

const NOTHING_HELD: RowHolds = { begins: async () => {}, release: async () => {} };

/** Of its JSON. Long ones are not written for it: what stands around the body in the line is small against it. */
function bodyBytesOf({ body, bytes }: BatchRow): number {
  return bytes > LIGHT_BYTES ? bytes : Buffer.byteLength(JSON.stringify(body));
}

function rowEstimate({ method }: Call, row: BatchRow) {
  const { body } = row;
  const stated = {
    maxCompletionTokens: body.max_completion_tokens,
    maxTokens: body.max_tokens,
    maxOutputTokens: body.max_output_tokens,
    n: body.n,
  };
  const makes = method.input.fields.some(({ name }) => name === 'max_tokens' || name === 'max_output_tokens');
  return estimateOf(bodyBytesOf(row), stated, makes);
}

/** The caller's headers; each row's entry names its batch. */
function headersOf(names: HeaderNames, { caller, batchId }: RowsOf): Record<string, string> {
  const headers = { ...caller.headers };
  const name = names.of('metadata').find((one) => headers[one] !== undefined) ?? `${names.canonical}metadata`;
  let given: JsonObject = {};
  try {
    given = JSON.parse(headers[name] ?? '{}') as JsonObject;
  } catch {
    // The row's call tells what is wrong with it.
    return headers;
  }
  headers[name] = JSON.stringify({ ...given, _batch: batchId });
  return headers;
}

/** Longest answer of a row: it is joined, encrypted and written as one piece. */
const MOST_ROW_BYTES = 16 * 1024 * 1024;

function rowText({ method }: Call, answer: Message): string {
  const raw = rawJsonOf(answer);
  if ((raw?.length ?? 0) > MOST_ROW_BYTES)
    throw fail(
      'upstream_garbage',
      'the answer is longer than 16 MiB, which is too long for a row of a batch',
    );
  // A provider's text may have line breaks; a row is one line.
  if (raw === undefined) return JSON.stringify(codec.encode(method.output, answer));
  const text = jsonText(raw);
  return /[\r\n]/.test(text) ? JSON.stringify(JSON.parse(text)) : text;
}

function faultOf(
  param: string | undefined,
  message: string,
  violations: readonly { readonly field: string; readonly message: string }[] = [],
): { param: string; message: string } {
  const [first] = violations;
  return first === undefined
    ? { param: param ?? '', message }
    : { param: first.field, message: first.message };
}
