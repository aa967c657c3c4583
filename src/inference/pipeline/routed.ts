// A call whose plan is more than one plain target: the plan's route, with this call's ports.
import type { Call } from '../../call/call.ts';
import { hookResults } from '../../checks/runner/answer.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { toGatewayError } from '../../lib/errors.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { TargetPlan, WholePlan } from '../plan/plan.ts';
import type { Routing } from '../plan/select.ts';
import type { RoutePorts } from '../route/ports.ts';
import { Route } from '../route/route.ts';
import { throughCache } from './cached.ts';
import { Explanation, plain } from './explain.ts';
import { untilContent } from './first-content.ts';
import { Guards } from './guards.ts';
import { withLast, withMembers } from './members.ts';
import { pieceForm } from './pieces/piece-forms.ts';
import type { Pipeline } from './pipeline.ts';
import { jsonOf } from './rewrite.ts';
import type { Served } from './served.ts';
import { SoftDenial } from './soft-denial.ts';
import { discard, once, remainingMs, worldOf } from './world.ts';

/** One request, and how it is run. */
export interface Job<Request extends object, Answer extends object, Whole extends object = object> {
  readonly name: OperationName;
  readonly request: Request;
  readonly streams: boolean;
  /** Calls a target once. A stream resolves when its first piece is at hand. */
  attempt(bound: BoundTarget, request: Request, signal: AbortLike): Promise<Answer>;
  /** How a streamed answer is read whole and then given in pieces, for guardrails that write. */
  readonly held?: HeldAnswer<Request, Answer, Whole>;
}

/** An answer that is whole before its first piece goes out. */
export interface HeldAnswer<Request extends object, Answer extends object, Whole extends object> {
  whole(bound: BoundTarget, request: Request, signal: AbortLike): Promise<Whole>;
  inPieces(bound: BoundTarget, request: Request, whole: Whole): Answer;
}

/** Runs the plan's route. */
export async function callRouted<Request extends object, Answer extends object, Whole extends object>(
  pipeline: Pipeline,
  call: Call,
  routing: Routing,
  job: Job<Request, Answer, Whole>,
): Promise<Answer> {
  const { plan } = routing;
  const explanation = call.headers.get('explain') === 'true' ? new Explanation(plan) : undefined;
  const route = new Route(portsOf(pipeline, call, routing, job, explanation), remainingMs(call));
  try {
    const served = await route.run(plan.root, call.signal).then(
      ({ answer }) => answer,
      (thrown: unknown) => softly(thrown, job),
    );
    note(call, plan, route);
    if (served.status !== 200) call.record.status = served.status;
    const answer = withResults(served, job.name);
    explanation?.guardrails(served.input, served.output);
    return explanation === undefined ? answer : explanation.on(answer, call);
  } catch (thrown) {
    note(call, plan, route);
    const error = toGatewayError(thrown);
    throw explanation === undefined ? error : explanation.onError(error, call);
  }
}

function portsOf<Request extends object, Answer extends object, Whole extends object>(
  pipeline: Pipeline,
  call: Call,
  routing: Routing,
  { name, request, streams, attempt, held }: Job<Request, Answer, Whole>,
  explanation: Explanation | undefined,
): RoutePorts<Served<Answer>> {
  const guards = new Guards(pipeline, call, name, request, streams, explanation);
  return {
    prepare(target, signal) {
      // The provider has no part in how long the guardrails of a request take.
      if (target.guardrails === undefined) return undefined;
      return prepared(routing, guards, target, signal);
    },
    async attempt(target, signal, answered) {
      const asked = await routing.bind(target);
      call.record.provider = asked.target.provider.id;
      const input = await guards.input(asked, signal);
      const { bound } = input;
      if (guards.mustHold(bound) && held !== undefined) {
        const whole = await held.whole(bound, input.request, signal);
        answered();
        const served = await guards.output(whole, bound, input, signal);
        return { ...served, answer: held.inPieces(bound, input.request, served.answer) };
      }
      const answer = await attempt(bound, input.request, signal);
      // A stream's beginning is there when its first content is.
      if (!streams) answered();
      const served = await guards.output(answer, bound, input, signal);
      // Nothing comes after the only attempt: its stream need not be waited for.
      if (!streams || routing.plan.maxAttempts === 1) return served;
      const events = await untilContent(served.answer as unknown as AsyncIterable<object>, pieceForm(name));
      return { ...served, answer: events as unknown as Answer };
    },
    cached: (target, signal, run) =>
      throughCache(
        {
          pipeline,
          call,
          name,
          routing,
          guards,
          streams,
          onReport: ({ status, key, ageMs, similarity, reason }) => {
            if (explanation !== undefined)
              explanation.facts.cache = plain({ status, key, age_ms: ageMs, similarity, reason });
          },
        },
        target,
        signal,
        run,
      ),
    idempotent: operationRow(name).idempotent,
    statusOf: ({ status }) => status,
    discard: ({ answer }) => discard(answer),
    ...worldOf(pipeline, call, routing, {
      params: once(() => jsonOf(name, request) ?? {}),
      pathname: operationRow(name).path,
      trace: explanation?.trace,
    }),
  };
}

async function prepared<Request extends object>(
  routing: Routing,
  guards: Guards<Request>,
  target: TargetPlan,
  signal: AbortLike,
): Promise<void> {
  await guards.input(await routing.bind(target), signal);
}

/** The reply to a denial that asks for one. @throws what is none */
function softly<Request extends object, Answer extends object, Whole extends object>(
  thrown: unknown,
  { request, held }: Job<Request, Answer, Whole>,
): Served<Answer> {
  if (!(thrown instanceof SoftDenial)) throw thrown;
  const { served, bound } = thrown;
  const answer = held ? held.inPieces(bound, request, served.answer as Whole) : (served.answer as Answer);
  return { ...served, answer };
}

/** The answer with the results of its guardrails; a guarded stream has them in a last event of its own. */
function withResults<Answer extends object>(
  { answer, input, output, tells, closing }: Served<Answer>,
  name: OperationName,
): Answer {
  if (!tells) return answer;
  const results = hookResults(input, output);
  const told = results === undefined ? answer : withMembers(answer, plain({ hook_results: results }));
  if (closing === undefined) return told;
  const last = (event: object): object | undefined => {
    const all = hookResults(input, closing());
    return all && pieceForm(name).closing(event, plain({ hook_results: all }));
  };
  return withLast(told as unknown as AsyncIterable<object>, last) as unknown as Answer;
}

function note<Answer>(call: Call, { root }: WholePlan, { last, retries, rescued }: Route<Answer>): void {
  if (root.kind !== 'target') call.record.mode = root.kind === 'balance' ? 'loadbalance' : root.kind;
  if (last === undefined) return;
  call.record.targetPath = last.path;
  call.record.retries = retries;
  call.record.rescued = rescued;
}
