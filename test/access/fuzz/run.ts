// A storm of calls by the callers of one tenant, while another tenant's things are known to them by id.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import { KeyKind as KeyKindProto } from '../../../gen/gateway/options/v2/options_pb.ts';
import { kindHolds } from '../../../src/access/keys.ts';
import { annotationsOf } from '../../../src/rest/routes.ts';
import { type Bench, type JsonObject, PROVIDER_KEY } from '../../contract/runner.ts';
import type { Dice } from './dice.ts';
import { anyMessage } from './message.ts';
import { type Came, sayable, send, type Way } from './send.ts';
import { type Caller, note, type Tenant } from './tenant.ts';
import { type Ids, thingMadeBy, type Words } from './words.ts';

/** What a storm found and how deep it went. */
export interface Storm {
  /** By method. */
  readonly counts: ReadonlyMap<string, Count>;
  /** Calls of known callers that the audit log must tell of, by request id: the outcome that it must tell. */
  readonly audited: ReadonlyMap<string, { readonly outcome: string; readonly what: string }>;
  /** What must never be, in words. */
  readonly faults: readonly string[];
}

export interface Count {
  calls: number;
  /** Messages within the rules. */
  valid: number;
  /** Let through to the service: the message valid, the caller authorised. */
  reached: number;
  /** Answered with what was asked for. */
  ok: number;
}

/** Who storms, and against whom. */
export interface StormFacts {
  readonly bench: Bench;
  readonly dice: Dice;
  readonly attacker: Tenant;
  readonly victim: Tenant;
  readonly calls: number;
}

const KINDS = {
  'organisation-service': KeyKindProto.ORGANISATION_SERVICE,
  'workspace-service': KeyKindProto.WORKSPACE_SERVICE,
  'workspace-user': KeyKindProto.WORKSPACE_USER,
} as const;
/** What takes callers away from all calls after it. */
const LAST = new Set(['ReplaceJwtSettings', 'DeleteJwtSettings']);
const AT_ONCE = 8;
const NOBODY: readonly Caller[] = [
  undefined,
  '-',
  'slk_nothing_of_the_kind_0123456789',
  'eyJhbGciOiJub25lIn0.e30.',
].map((key) => ({
  name: `nobody, with ${key ?? 'no key'}`,
  kind: undefined,
  scopes: new Set<string>(),
  key,
}));

const validator = createValidator();

export async function storm(facts: StormFacts): Promise<Storm> {
  const { bench, dice, calls } = facts;
  const methods = bench.gateway.app.rpc.methods.services.flatMap((service) => service.methods);
  const counts = new Map(methods.map((method) => [method.name, { calls: 0, valid: 0, reached: 0, ok: 0 }]));
  const faults: string[] = [];
  const audited = new Map<string, { outcome: string; what: string }>();
  const late = methods.filter(({ name }) => LAST.has(name));
  const early = methods.filter(({ name }) => !LAST.has(name));
  let sent = 0;
  const worker = async (): Promise<void> => {
    while (sent < calls) {
      const at = sent++;
      // Every method in turn, so that none is left out of a short run.
      const method =
        at > calls * 0.9 && dice.chance(0.2) ? dice.pick(late) : (early[at % early.length] as DescMethod);
      const came = await one(facts, method, counts.get(method.name) as Count, faults);
      const { audit, access } = annotationsOf(method);
      if (came.requestId !== undefined && !audit.none && !access.open)
        audited.set(came.requestId, { outcome: outcomeOf(came), what: `${method.name}: ${came.reason}` });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { counts, faults, audited };
}

async function one(
  { bench, dice, attacker, victim }: StormFacts,
  method: DescMethod,
  count: Count,
  faults: string[],
): Promise<Came> {
  const caller = anyCaller(dice, attacker, method);
  const on = { dice, words: wordsFor(attacker, victim, method), wild: dice.chance(0.25) };
  const takesMany = method.methodKind === 'bidi_streaming' || method.methodKind === 'client_streaming';
  const messages = Array.from({ length: takesMany ? 1 + dice.below(3) : 1 }, () =>
    anyMessage(on, method.input),
  );
  for (const message of messages)
    if (!on.wild) coherent({ dice, tenant: attacker, caller }, method, message as Bag);
  const [first] = messages as [Message];
  const valid = messages.every((message) => validator.validate(method.input, message).kind === 'valid');
  const asked = dice.pick<Way>(['in-process', 'in-process', 'in-process', 'in-process', 'rest', 'grpc']);
  const way = sayable(asked, method, first) ? asked : 'in-process';
  const headers = anyHeaders(dice, bench, caller);
  const came = await send(bench, way, method, messages, headers);
  count.calls++;
  if (valid) count.valid++;
  if (valid && reached(came)) count.reached++;
  if (came.reason === 'ok') {
    count.ok++;
    remember(attacker, method, came.answer);
  }
  const what = () =>
    `${method.name} by ${caller.name} over ${way}: ${JSON.stringify(messages, shown).slice(0, 1500)}`;
  if (came.reason === 'internal') faults.push(`internal: ${what()}\n${cause(came)}`);
  if (came.text.includes(victim.canary))
    faults.push(`tells of the other tenant: ${what()}\n${around(came.text, victim.canary)}`);
  for (const secret of victim.secrets)
    if (came.text.includes(secret)) faults.push(`tells a secret: ${what()}`);
  return came;
}

/** Where in an answer the other tenant stands. */
function around(text: string, canary: string): string {
  const at = text.indexOf(canary);
  return text.slice(Math.max(0, at - 1000), at + 1000);
}

function outcomeOf({ reason }: Came): string {
  if (reason === 'ok') return 'allowed';
  // The principal of a token is not known before it is let in.
  return reason === 'forbidden' ? 'refused' : 'failed';
}

type Bag = Message & Record<string, unknown>;

/** Fields that exclude or need each other: chance alone rarely gets them right. */
function coherent({ dice, tenant, caller }: Setting, method: DescMethod, message: Bag): void {
  if ('streamOptions' in message && method.methodKind === 'unary') message.streamOptions = undefined;
  if ('stream' in message) message.stream = undefined;
  if (message.bestOf !== undefined) message.bestOf = undefined;
  if (Array.isArray(message.clear) && dice.chance(0.7)) message.clear = [];
  if (typeof message.currentPage === 'number' && dice.chance(0.7)) message.currentPage = dice.below(2);
  if (method.name === 'CreateFeedback' && dice.chance(0.7)) withoutOthers(message);
  if (method.name === 'VerifyAuditLogs' && (message.hash === undefined) !== (message.sequence === undefined))
    message.hash = message.sequence = undefined;
  if (method.name === 'ReplaceJwtSettings') {
    message.jwks = undefined;
    message.jwksUri = dice.pick([
      'https://127.0.0.1:1/jwks',
      'http://127.0.0.1:1/jwks',
      'https://issuer.invalid/jwks',
    ]);
  }
  if (Array.isArray(message.scopes) && dice.chance(0.8)) {
    // What a key of any kind may hold, and its maker may give.
    const scopes = [...caller.scopes].filter(
      (scope) => !scope.startsWith('organisation') && kindHolds('workspace-user', scope),
    );
    message.scopes = scopes.length > 0 ? [dice.pick(scopes)] : ['logs.list'];
  }
  const workspaceNames = tenant.workspaceNames.get(String(message.workspaceId));
  if (method.name === 'DeleteWorkspace' && workspaceNames !== undefined) message.name = workspaceNames;
  if (method.name === 'CreateApiKey' && dice.chance(0.7)) {
    message.organisationId = undefined;
    message.expiresAt = undefined;
    if (message.type === 'organisation') message.subType = 'service';
    message.workspaceId = message.type === 'organisation' ? undefined : tenant.second;
    message.userId = message.subType === 'user' ? dice.pick(tenant.expendable.user ?? []) : undefined;
  }
  const invite = tenant.invites.at(-1);
  if (method.name === 'AcceptUserInvite' && invite !== undefined && dice.chance(0.3)) {
    tenant.invites.pop();
    Object.assign(message, invite);
  }
  if (method.parent.name === 'WorkspaceMembersService' && dice.chance(0.5)) {
    message.workspaceId = tenant.second;
    if ('userId' in message) message.userId = dice.pick(tenant.expendable.user ?? []);
  }
}

/** Members that the contract does not name are taken in few places, and refused in feedback. */
function withoutOthers({ feedback }: Bag): void {
  const { value } = (feedback ?? {}) as { value?: { values?: Bag[] } & Record<string, unknown> };
  for (const one of value?.values ?? (value ? [value] : [])) one.others = undefined;
}

interface Setting {
  readonly dice: Dice;
  readonly tenant: Tenant;
  readonly caller: Caller;
}

/** Mostly somebody who may, else anybody. */
function anyCaller(dice: Dice, { callers }: Tenant, method: DescMethod): Caller {
  const { access } = annotationsOf(method);
  const may = callers.filter(
    ({ kind, scopes, name }) =>
      kind !== undefined &&
      !/expired|forged/.test(name) &&
      (access.kinds.length === 0 || access.kinds.includes(KINDS[kind])) &&
      access.scopes.some((scope) => scopes.has(scope)),
  );
  if (may.length > 0 && dice.chance(0.7)) return dice.pick(may);
  return dice.chance(0.15) ? dice.pick(NOBODY) : dice.pick(callers);
}

/** What reads may name everything of the own tenant; what takes away leaves the callers their keys, users and places. */
function wordsFor(attacker: Tenant, victim: Tenant, { name }: DescMethod): Words {
  const takes = /^(Delete|Update|Remove|Rotate|Cancel)/.test(name) && name !== 'UpdateWorkspace';
  const own = takes ? attacker.expendable : attacker.all;
  const workspace = (name === 'DeleteWorkspace' ? attacker.expendable : attacker.all).workspace ?? [];
  return { own: { ...own, workspace }, foreign: speakable(victim), names: attacker.names };
}

const known = new WeakMap<Tenant, Ids>();

/** A tenant's ids as another one may come to know them; slugs that the canary stands in would be repeated to who asks. */
function speakable(tenant: Tenant): Ids {
  const ids =
    known.get(tenant) ??
    Object.fromEntries(
      Object.entries(tenant.all).map(([thing, all]) => [
        thing,
        all.filter((id) => !id.includes(tenant.canary)),
      ]),
    );
  known.set(tenant, ids);
  return ids;
}

function anyHeaders(dice: Dice, bench: Bench, { key }: Caller): Record<string, string> {
  const headers: Record<string, string> = { 'x-gateway-request-timeout': '3000' };
  const asBearer = dice.chance(0.2);
  if (key !== undefined && asBearer) headers.authorization = `Bearer ${key}`;
  else if (key !== undefined) headers['x-gateway-api-key'] = key;
  if (dice.chance(0.9)) {
    headers['x-gateway-provider'] = dice.pick(['openai', 'openai', 'openai', 'anthropic', 'nobody']);
    headers['x-gateway-custom-host'] = `${bench.provider.origin}/v1`;
    if (!asBearer) headers.authorization = `Bearer ${PROVIDER_KEY}`;
  }
  if (dice.chance(0.1))
    headers['x-gateway-config'] = dice.pick([
      '{"cache":{"mode":"simple"}}',
      '{',
      '{"retry":{"attempts":1}}',
      'pc-unknown',
    ]);
  if (dice.chance(0.1)) headers['x-gateway-metadata'] = dice.pick(['{"a":"b"}', '[]', '{"_user":1}']);
  if (dice.chance(0.1)) headers['x-gateway-trace-id'] = dice.pick(['trace-1', 'a b', 'x'.repeat(300)]);
  return headers;
}

function reached({ reason }: Came): boolean {
  return !['unauthenticated', 'forbidden', '401', '403', 'Unauthenticated', 'PermissionDenied'].includes(
    reason,
  );
}

/** What was made may be named, changed and taken away. */
function remember(tenant: Tenant, { name }: DescMethod, answer: JsonObject | undefined): void {
  const thing = thingMadeBy(name);
  if (typeof answer?.key === 'string' && answer.key.startsWith('slk_')) tenant.secrets.push(answer.key);
  const id = answer?.id;
  const link = answer?.invite_link ?? answer?.inviteLink;
  if (typeof link === 'string') {
    const given = new URLSearchParams(new URL(link).hash.slice(1));
    const token = given.get('token') ?? '';
    tenant.invites.push({ inviteId: given.get('id') ?? '', token });
    tenant.secrets.push(token);
  }
  if (thing === undefined || typeof id !== 'string') return;
  for (const things of [tenant.all, tenant.expendable]) {
    const ids = note(things, thing, id);
    if (ids.length > 120) ids.splice(40, 1);
  }
  if (thing === 'workspace') tenant.workspaceNames.set(id, String(answer?.name));
}

function cause({ thrown, text }: Came): string {
  const inner = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  return inner instanceof Error ? `${inner.stack}` : text;
}

function shown(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
