// What is needed to try checks on: real sandbox, real dialer that may call loopback, calls made of a few words.
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { type Checks, type ChecksOptions, createChecks } from '../../src/checks/create.ts';
import { type Hook, parseGuardrailList } from '../../src/checks/guardrails.ts';
import type { CheckResult, HookResult, HookRun } from '../../src/checks/runner/hook-result.ts';
import { requestBody, responseBody } from '../../src/checks/view/body-of.ts';
import type { Api, Event, JsonObject, Traffic } from '../../src/checks/view/traffic.ts';
import { Aborter } from '../../src/lib/abort.ts';
import { parseAllowList } from '../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../src/lib/egress/dialer.ts';

/** The room with a dialer that may call loopback; closed at the end of the test. */
export function bench(
  t: ExecutionContext,
  options: Partial<ChecksOptions> & { allow?: string } = {},
): Checks {
  const dialer = createDialer({ allow: parseAllowList(options.allow ?? '127.0.0.1/32') });
  const checks = createChecks({
    dialer,
    ownsHeader: (name) => name.startsWith('x-gateway-'),
    report: (error) => t.log(error),
    ...options,
  });
  t.teardown(async () => {
    await checks.close(100);
    await dialer.close();
  });
  return checks;
}

export interface CallFacts extends Partial<Omit<Traffic, 'request' | 'response'>> {
  readonly request?: JsonObject;
  readonly response?: JsonObject;
  readonly status?: number;
}

/** A call; a chat, unless said otherwise. */
export function call({ request, response, status = 200, ...facts }: CallFacts = {}): Traffic {
  const api: Api = facts.api ?? 'chat';
  const json = request ?? { model: 'gpt-5', messages: [{ role: 'user', content: 'Hello there' }] };
  return {
    requestType: 'chatComplete',
    model: typeof json.model === 'string' ? json.model : undefined,
    provider: 'openai',
    metadata: {},
    headers: {},
    streaming: false,
    traceId: undefined,
    organisationId: 'tenant',
    ...facts,
    api,
    request: requestBody(api, json),
    response: response === undefined ? undefined : { ...responseBody(api, response), status },
  };
}

/** A chat whose only message is this. */
export function saying(content: unknown, facts: CallFacts = {}): Traffic {
  return call({ request: { model: 'gpt-5', messages: [{ role: 'user', content }] }, ...facts });
}

/** A chat that was answered with these choices, texts or messages. */
export function answering(...choices: readonly unknown[]): Traffic {
  return call({
    response: {
      choices: choices.map((one) => ({
        message: typeof one === 'string' ? { role: 'assistant', content: one } : one,
      })),
    },
  });
}

/** Hooks of the short form that are known to be well. */
export function hooks(event: Event, ...items: readonly unknown[]): readonly Hook[] {
  const faults: { path: string; message: string }[] = [];
  const read = parseGuardrailList(items, event, 'hooks', faults);
  if (read === undefined) throw new Error(JSON.stringify(faults));
  return event === 'input' ? read.input : read.output;
}

/** Faults of hooks, as `path: message`. */
export function faultsOf(event: Event, ...items: readonly unknown[]): string[] {
  const faults: { path: string; message: string }[] = [];
  parseGuardrailList(items, event, 'hooks', faults);
  return faults.map(({ path, message }) => `${path}: ${message}`);
}

export const never = new Aborter();

/** Runs hooks over a call, on the side that it is at. */
export function runHooks(checks: Checks, traffic: Traffic, ...items: readonly unknown[]): Promise<HookRun> {
  const event = traffic.response === undefined ? 'input' : 'output';
  return checks.runner.run(hooks(event, ...items), traffic, never);
}

/** Runs one check and gives its result. */
export async function runOne(
  checks: Checks,
  traffic: Traffic,
  id: string,
  parameters: JsonObject,
): Promise<CheckResult & { readonly run: HookRun }> {
  const run = await runHooks(checks, traffic, { [id]: parameters });
  const [hook] = run.results;
  const [result] = (hook as HookResult).checks;
  if (result === undefined) throw new Error('the check did not run');
  return { ...result, run };
}

/** What a server on loopback was asked. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server on a free loopback port that answers as told; closed at the end of the test. */
export async function listen(
  t: ExecutionContext,
  answer: (asked: Asked, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly asked: Asked[] }> {
  const asked: Asked[] = [];
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(pieces).toString() };
      asked.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A JSON answer. */
export function answerJson(response: ServerResponse, json: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
}
