// Limits on model calls: admitted before the handler runs, settled when the answer has ended.
import { type DescMethod, hasOption, type Message, toBinary } from '@bufbuild/protobuf';
import { RealtimeService } from '../../../gen/gateway/inference/v2/realtime_pb.ts';
import { metered } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { KeyRing } from '../../access/key-ring.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { clientMetadata } from '../../inference/plan/client-metadata.ts';
import { readMetadata } from '../../inference/plan/request-settings.ts';
import type { Foreseen, PromptRuns } from '../../inference/prompts.ts';
import type { Books } from '../../ledger/books.ts';
import type { InFlightJournal } from '../../ledger/flight/in-flight-journal.ts';
import type { Admission, Ticket } from '../../ledger/limits/admission.ts';
import { type Estimate, estimateOf } from '../../ledger/limits/estimate.ts';
import type { AdmittedCall } from '../../ledger/limits/hold-note.ts';
import type { Holds } from '../../ledger/limits/holds.ts';
import type { PolicySet } from '../../ledger/limits/policy-set.ts';
import { tellRates } from '../../ledger/limits/rate-headers.ts';
import type { Rule } from '../../ledger/limits/rule.ts';
import { type Carried, type Carrier, countsReads, READS, rulesOf } from '../../ledger/limits/rules-of.ts';
import type { Subject } from '../../ledger/limits/subject.ts';
import { optionOf } from '../../lib/contract-options.ts';
import { codingsOf } from '../../lib/incoming/decoded-length.ts';
import { formOf } from '../../rest/form-shape.ts';
import type { JsonObject } from '../../store/collection.ts';
import { type Handler, type Input, type Interceptor, isStream, type Output, watched } from '../handler.ts';
import { measuredBody } from './measured-body.ts';

/** What the stage asks. */
export interface LimitsDeps {
  readonly admission: Admission;
  readonly holds: Holds;
  readonly policies: PolicySet;
  readonly keys: KeyRing;
  readonly directory: Directory;
  readonly books: Pick<Books, 'complete' | 'claim' | 'keep'>;
  readonly flights?: Pick<InFlightJournal, 'settling' | 'over'> | undefined;
  /** What a call will ask for, where its message does not say it itself. */
  readonly foresee?: PromptRuns['foresee'] | undefined;
  /** The id of an MCP server of an organisation. */
  readonly mcpServerId?: ((organisationId: string, slug: string) => string | undefined) | undefined;
  /** Is told of work that goes on after the answer, so that a stop waits for it. */
  readonly inBackground: (work: Promise<unknown>, aside?: boolean) => void;
}

export function limitsInterceptor(deps: LimitsDeps): Interceptor {
  const { admission, holds, books, flights, inBackground } = deps;
  return (method) => {
    if (!hasOption(method, metered) || !optionOf(method, metered)) return (next) => next;
    const operation = `${method.parent.typeName}/${method.name}`;
    const isToolCall = operation === TOOL_CALL;
    // What a form asks for is not told by its length: a file is no prompt.
    const isForm = formOf(method) !== undefined;
    const hasOutput =
      method.input.fields.some(({ name }) => name === 'max_tokens') ||
      (method.methodKind === 'bidi_streaming' && !isForm);
    const live = method === RealtimeService.method.connect;
    const settle = (ticket: Ticket, call: Call, done: () => void, failed: boolean): void => {
      if (!ticket.held) return;
      const work = async (): Promise<void> => {
        const claimed = books.claim(call);
        await books.complete(call);
        const attempts = call.attemptsOver(0) === undefined ? call.record.attempts : undefined;
        const entry = await claimed;
        await admission.settle(ticket, {
          attempts,
          failed,
          entry,
          noted: flights && ((text, order) => flights.settling(call, text, order)),
          done() {
            done();
            flights?.over(call);
          },
          unwritten: (own) => books.keep(own, call),
        });
      };
      inBackground(work(), call.patienceMs > 0);
    };
    return (next) => (input, call) => {
      const { principal } = call;
      if (principal === undefined) return next(input, call);
      const soon = isStream(input) ? undefined : deps.foresee?.(method, input, call);
      if (soon !== undefined) return soon.then((foreseen) => within(next, input, call, principal, foreseen));
      return within(next, input, call, principal, undefined);
    };

    // Most calls have no limits: theirs waits for nothing here.
    function within(
      next: Handler,
      input: Input,
      call: Call,
      principal: Principal,
      foreseen: Foreseen | undefined,
    ): Promise<Output> {
      const stored = defaultMetadata(deps, principal);
      const defaults = principal.sessionId === undefined ? stored : { ...stored, ...FROM_CONSOLE };
      call.defaultMetadata = foreseen ? { ...defaults, ...foreseen.metadata } : defaults;
      call.clientMetadata = isStream(input) ? undefined : clientMetadata(input, call.headers);
      const rules = applying(deps, call, principal, isToolCall ? toolOf(deps, input, principal) : undefined);
      const isLimited = rules.length > 0 || call.limitSubject !== undefined;
      if (!live && isStream(input) && !isForm && (isLimited || isEncoded(call)))
        return measured(next, input, call, principal, rules);
      return rules.length === 0 ? next(input, call) : admitted(next, input, call, principal, rules, foreseen);
    }

    /** Of what is passed through, the decoded length counts. */
    async function measured(
      next: Handler,
      input: AsyncIterable<Message>,
      call: Call,
      principal: Principal,
      rules: readonly Rule[],
    ): Promise<Output> {
      const { messages, bytes, leave } = await measuredBody(input, call);
      call.bodyBytes = bytes;
      if (rules.length === 0) return next(messages, call);
      let isBegun = false;
      const begin: Handler = (...args) => {
        isBegun = true;
        return next(...args);
      };
      try {
        return await admitted(begin, messages, call, principal, rules, undefined);
      } catch (thrown) {
        if (!isBegun) await leave();
        throw thrown;
      }
    }

    async function admitted(
      next: Handler,
      input: Input,
      call: Call,
      principal: Principal,
      rules: readonly Rule[],
      foreseen: Foreseen | undefined,
    ): Promise<Output> {
      const ticket = await admission.admit({
        id: call.id,
        organisationId: principal.organisationId,
        rules,
        estimate:
          live && call.turn === undefined
            ? OPENING
            : estimateOf(
                foreseen?.bytes ?? bytesOf(method, input, call),
                foreseen?.request ?? (isStream(input) ? {} : input),
                hasOutput,
              ),
        model: foreseen?.model ?? call.turn?.model ?? textMember(input, 'model'),
        provider: call.headers.get('provider'),
        call: factsOf(call, principal, operation, input),
      });
      if (!streamsIn(method)) tellRates(call.answerHeaders, ticket.rates);
      if (ticket.held) call.account.held = chargedTo(ticket);
      const done = ticket.held ? holds.keep(principal.organisationId, call.id) : () => {};
      let output: Output;
      try {
        output = await next(input, call);
      } catch (thrown) {
        settle(ticket, call, done, true);
        throw thrown;
      }
      if (!isStream(output)) {
        settle(ticket, call, done, false);
        return output;
      }
      return watched(
        output,
        (thrown) => thrown as Error,
        (error) => settle(ticket, call, done, error !== undefined),
      );
    }
  };
}

/** Of a session, whose responses are calls of their own: enough to find out whether there is anything left. */
const OPENING: Estimate = { input: 1, output: 0 };

/** The budgets that the call is charged to. */
function chargedTo({ rules }: Ticket): NonNullable<Call['account']['held']> {
  return rules.flatMap(({ rule, limit }) =>
    rule.kind === 'budget' ? [{ key: limit.key, type: rule.type }] : [],
  );
}

/** The call as it is known before it runs. */
function factsOf(
  call: Call,
  { workspaceId, keyId }: Principal,
  operation: string,
  input: Input,
): AdmittedCall {
  const { source, id, traceId, arrivedAt, headers } = call;
  return {
    id,
    traceId,
    workspaceId: workspaceId ?? '',
    apiKeyId: keyId,
    createdAt: arrivedAt,
    operation,
    protocol: source.protocol,
    method: source.httpMethod,
    path: source.path,
    provider: headers.get('provider') ?? '',
    model: textMember(input, 'model') ?? '',
    metadata: { ...call.clientMetadata, ...readMetadata(headers), ...call.defaultMetadata },
  };
}

/** The operation of tool calls: policies with the target mcp_tools are for it, all others are not. */
const TOOL_CALL = 'gateway.inference.v2.McpService/CallTool';

function toolOf(deps: LimitsDeps, input: Input, { organisationId }: Principal): Subject['mcp'] {
  const slug = textMember(input, 'server') ?? '';
  const id = deps.mcpServerId?.(organisationId, slug);
  return { server: id === undefined ? [slug] : [slug, id], tool: textMember(input, 'tool') ?? '' };
}

/** All rules that a call of the principal meets. */
export function applying(
  deps: Pick<LimitsDeps, 'keys' | 'directory' | 'policies'>,
  call: Call,
  principal: Principal,
  mcp: Subject['mcp'],
): readonly Rule[] {
  const { organisationId, workspaceId, keyId, token } = principal;
  const settings = deps.keys.settings(organisationId, keyId);
  const workspace =
    workspaceId === undefined ? undefined : deps.directory.workspace(organisationId, workspaceId);
  if (!(limits(settings) || limits(token) || limits(workspace?.body) || deps.policies.has(organisationId)))
    return NONE;
  const carriers: (Carrier | undefined)[] = [
    settings && { id: `key:${keyId}`, name: 'the API key', carried: settings },
    token && { id: `token:${keyId}`, name: 'the token', carried: token },
    workspace && { id: `ws:${workspace.id}`, name: 'the workspace', carried: workspace.body },
  ];
  const subject = (): Subject => ({
    organisationId,
    workspaceId,
    workspaceSlug: workspace?.slug,
    keyId,
    metadata: { ...call.clientMetadata, ...readMetadata(call.headers), ...call.defaultMetadata },
    ...(mcp === undefined ? {} : { mcp }),
  });
  if (mcp === undefined && deps.policies.hasOfTargets(organisationId)) call.limitSubject = subject();
  const rules = rulesOf(subject, organisationId, deps.policies, carriers);
  return READS.has(call.source.httpMethod) ? rules.filter(countsReads) : rules;
}

/** Marks the calls of the console in the log. */
const FROM_CONSOLE = { _source: 'console' };
const NONE: readonly Rule[] = Object.freeze([]);

function limits(carried: Carried | undefined): boolean {
  return carried?.rateLimits !== undefined || carried?.usageLimits !== undefined;
}

/** Metadata that the caller's key, token, workspace and organisation give every request: a workspace's wins, then the key's. */
function defaultMetadata(
  { keys, directory }: LimitsDeps,
  { organisationId, workspaceId, keyId, userId, token }: Principal,
): Readonly<Record<string, string>> | undefined {
  const workspace = workspaceId === undefined ? undefined : directory.workspace(organisationId, workspaceId);
  const ofAll = directory.organisation(organisationId)?.body.defaults?.metadata;
  const ofToken = (token?.defaults as JsonObject | undefined)?.metadata;
  const ofKey = keys.settings(organisationId, keyId)?.defaults?.metadata;
  const own = workspace?.body.defaults?.metadata;
  const user = userId === undefined ? undefined : directory.user(organisationId, userId)?.body.email;
  if ((ofAll ?? ofToken ?? ofKey ?? own ?? user) === undefined) return undefined;
  const first = user === undefined ? {} : { _user: user };
  return Object.assign(first, ofAll, ofToken, ofKey, own) as Record<string, string>;
}

function bytesOf(method: DescMethod, input: Input, call: Call): number {
  // Of an encoded body the decoded length counts, not what the headers tell.
  if (call.bodyBytes !== undefined) return call.bodyBytes;
  if (isStream(input) || typeof input === 'function') return 0;
  return toBinary(method.input, input as Message).byteLength;
}

function isEncoded({ headers, source }: Call): boolean {
  return source.protocol === 'rest' && codingsOf(headers.plain('content-encoding')).length > 0;
}

function textMember(input: Input, name: string): string | undefined {
  const value = (input as unknown as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}

function streamsIn(method: DescMethod): boolean {
  return method.methodKind === 'bidi_streaming' || method.methodKind === 'client_streaming';
}
