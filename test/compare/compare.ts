// npm run compare: asks this gateway and the reference the same things in front of the same provider, and says
// where they differ. By hand only: it fetches the reference. Exit code 1 when they differ without a reason.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { REFERENCE_VERSION, startReference } from '../bench/reference.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { CASES, type CompareCase, type Part } from './cases.ts';

interface Side {
  readonly name: 'reference' | 'sluice';
  readonly origin: string;
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Seen {
  readonly status: number;
  readonly parts: Readonly<Record<Part, unknown>>;
}

const ALL: readonly Part[] = ['body', 'calls', 'sent', 'headers'];
/** Members that name the gateway or the moment. */
const OWN = new Set(['created', 'id', 'provider', 'hook_results', 'gateway_explain']);
const HEADERS = ['last-used-option-index', 'retry-attempt-count'];

const provider = await startFakeProvider();
const gateway = await startGateway({ LOG_LEVEL: 'fatal' });
const reference = await startReference();
const dead = await deadPort();
const sides: readonly Side[] = [
  { name: 'reference', origin: reference.origin, prefix: 'x-portkey-', headers: {} },
  {
    name: 'sluice',
    origin: gateway.origin,
    prefix: 'x-gateway-',
    headers: { 'x-gateway-api-key': WORKSPACE_KEY },
  },
];
let same = 0;
let known = 0;
let unexpected = 0;
try {
  for (const [i, one] of CASES.entries()) {
    const [theirs, ours] = [await ask(sides[0]!, one, i), await ask(sides[1]!, one, i)];
    const differences = differencesOf(theirs, ours, one.compare ?? ALL);
    if (differences.length === 0) same++;
    else if (one.differs !== undefined) known++;
    else unexpected++;
    const mark = differences.length === 0 ? 'same' : one.differs === undefined ? 'DIFFERS' : 'known';
    process.stdout.write(`${mark.padEnd(8)} ${one.name}${one.differs ? ` (${one.differs})` : ''}\n`);
    if (differences.length > 0)
      process.stdout.write(differences.map((text) => `         ${text}\n`).join(''));
  }
} finally {
  await reference.child.stop();
  await gateway.close();
  await provider.close();
}
process.stdout.write(
  `\n${CASES.length} cases against the reference ${REFERENCE_VERSION}: ${same} the same, ${known} different for the reasons given, ${unexpected} different without one\n`,
);
process.exitCode = unexpected === 0 ? 0 : 1;

/** Puts the case to one gateway. */
async function ask(side: Side, one: CompareCase, index: number): Promise<Seen> {
  const { verb = 'POST', path = '/chat/completions', times = 1 } = one;
  const fill = (text: string): string =>
    text
      .replaceAll('HOST', `${provider.origin}/v1`)
      .replaceAll('DEAD', `http://127.0.0.1:${dead}/v1`)
      .replaceAll('RUN', `${side.name}-${index}`);
  const headers: Record<string, string> = { ...side.headers };
  if (verb === 'POST') headers['content-type'] = 'application/json';
  for (const [name, value] of Object.entries(one.headers ?? {}))
    headers[name.startsWith('!') ? name.slice(1) : side.prefix + name] = value;
  if (one.config !== undefined) headers[`${side.prefix}config`] = fill(JSON.stringify(one.config));
  const body = one.body ?? { model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] };
  const before = provider.seen.length;
  let answer: Response | undefined;
  let text = '';
  for (let i = 0; i < times; i++) {
    answer = await fetch(`${side.origin}/v1${path}`, {
      method: verb,
      headers,
      ...(verb === 'POST' ? { body: fill(JSON.stringify(body)) } : {}),
    });
    text = await answer.text();
  }
  const calls = provider.seen.slice(before);
  const last = calls.at(-1);
  return {
    status: answer?.status ?? 0,
    parts: {
      body: comparable(text),
      calls: calls.length,
      sent: last && comparable(last.body.toString('utf8')),
      headers: HEADERS.map((name) => answer?.headers.get(side.prefix + name) ?? null),
    },
  };
}

function differencesOf(theirs: Seen, ours: Seen, parts: readonly Part[]): string[] {
  const out =
    theirs.status === ours.status ? [] : [`status: reference ${theirs.status}, here ${ours.status}`];
  for (const part of parts) {
    if (isDeepStrictEqual(theirs.parts[part], ours.parts[part])) continue;
    out.push(`${part}: reference ${short(theirs.parts[part])}, here ${short(ours.parts[part])}`);
  }
  return out;
}

/** JSON without what differs by nature. */
function comparable(text: string): unknown {
  try {
    return stripped(JSON.parse(text));
  } catch {
    return text;
  }
}

function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !OWN.has(name))
      .map(([name, member]) => [name, stripped(member)]),
  );
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** A port of the loopback at which nobody listens. */
async function deadPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
