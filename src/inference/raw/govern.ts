// What may be passed through: restrictions of models and mandatory guardrails hold on raw paths, too. Where a request
// cannot be read they would be evaded, and the call is refused, unless the operator allows it.
import type { Guardrails, Hook } from '../../checks/hook.ts';
import { mustHoldAnswer } from '../../checks/stream/stream-guard.ts';
import { oddName } from '../../checks/view/odd-names.ts';
import { fail, type GatewayError } from '../../lib/errors.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { clip } from '../plan/faults.ts';
import { furtherModels } from '../plan/further-models.ts';
import { headerOf, type RawRequest } from './raw-request.ts';

/** What becomes of raw paths: calls that cannot be read are judged, let through, or none is passed through at all. */
export type RawPaths = 'govern' | 'allow' | 'deny';

const STRICTNESS: readonly RawPaths[] = ['allow', 'govern', 'deny'];

/** The stricter of the operator's setting and a stored provider's. */
export function stricter(one: RawPaths, other: RawPaths | undefined): RawPaths {
  return other !== undefined && STRICTNESS.indexOf(other) > STRICTNESS.indexOf(one) ? other : one;
}

/** A request as it may go to a target. */
export interface Governed {
  /** Its body as JSON, where guardrails are to look at it. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  /** Whether its answer's words can be read by guardrails. */
  readonly says: boolean;
  /** Whether every answer must be read: one that cannot be is not given. */
  readonly mustRead: boolean;
}

/**
 * Judges a request for its target. @param model what is asked for, without a slug @param policy the operator's setting
 * @throws GatewayError forbidden (403) with the reason and the next step
 */
export async function govern(
  request: RawRequest,
  bound: BoundTarget,
  model: string | undefined,
  policy: RawPaths,
): Promise<Governed> {
  const rule = stricter(policy, bound.stored?.rawPaths);
  if (rule === 'deny') throw denied(bound, policy);
  const hooks = bound.plan.guardrails as Guardrails | undefined;
  const restricted = bound.stored?.models?.restricted === true;
  if (hooks === undefined && !restricted) return NOTHING;
  const { path } = request;
  const json = request.hasBody ? await request.json() : undefined;
  const readable =
    path.form !== undefined && json !== undefined && path.form.fits(json) && oddName(json) === undefined;
  if (restricted) checkModels(request, bound, model, readable ? json : undefined, rule);
  if (hooks === undefined) return NOTHING;
  const mandatory = [...hooks.input, ...hooks.output].find((hook) => hook.mandatory);
  if ((request.hasBody || saysMore(request)) && !readable && mandatory !== undefined && rule === 'govern')
    throw unreadable(request, `the guardrail ${mandatory.id} must see every request`, json !== undefined);
  const mustRead = rule === 'govern' && hooks.output.some(isMandatory);
  const streams = readable && (path.streams || json.stream === true) && path.form.says;
  if (mustRead && streams && mustHoldAnswer(hooks.output))
    throw fail(
      'forbidden',
      `the guardrail ${hooks.output.find(isMandatory)!.id} may have to change the answer, and it cannot change streams that are passed through: ask for a whole answer, or use the gateway's own /chat/completions`,
      { param: 'stream' },
    );
  const says = path.form?.says === true && (readable || !request.hasBody);
  return { json: readable ? json : undefined, says, mustRead };
}

const NOTHING: Governed = Object.freeze({ json: undefined, says: false, mustRead: false });

/** @throws GatewayError forbidden naming the model */
function checkModels(
  request: RawRequest,
  { stored }: BoundTarget,
  model: string | undefined,
  json: Readonly<Record<string, unknown>> | undefined,
  rule: RawPaths,
): void {
  const { path, hasBody } = request;
  const allows = stored!.models!.allows.bind(stored!.models);
  const asked = [
    ...path.models,
    ...MODEL_HEADERS.flatMap((name) => headerOf(request.head, name) ?? []),
    ...(hasBody && model !== undefined ? [model] : []),
    ...(json === undefined ? [] : furtherModels(json)),
  ];
  for (const one of asked) {
    // Gemini's bodies name models as resources.
    if (allows(one) || (path.form?.view === 'gemini' && allows(one.replace(/^models\//, '')))) continue;
    throw fail('forbidden', `model: ${clip(one)} is not allowed by the integration of this stored provider`, {
      param: 'model',
    });
  }
  if (!hasBody || rule !== 'govern') return;
  if (json === undefined)
    throw unreadable(request, 'the integration of this stored provider allows certain models only', false);
  if (asked.length === 0)
    throw fail(
      'forbidden',
      'model: must be named, for the integration of this stored provider allows certain models only',
      { param: 'model' },
    );
}

/** Headers by which Azure's machine learning endpoints choose what answers. */
const MODEL_HEADERS = ['azureml-model-deployment', 'x-ms-model-mesh-model-name'];
const OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override'];
const WORDS = /[?&](?:prompt|input|text|messages?|contents?|system|instructions)=/i;

/** Whether a request without a body asks for more than what is kept: its query has words, or it wants another method. */
function saysMore({ head }: RawRequest): boolean {
  return WORDS.test(head.path) || OVERRIDES.some((name) => headerOf(head, name) !== undefined);
}

function isMandatory({ mandatory }: Hook): boolean {
  return mandatory;
}

function denied({ stored }: BoundTarget, policy: RawPaths): GatewayError {
  const whose =
    policy === 'deny' ? 'this gateway (GATEWAY_RAW_PATHS)' : `the stored provider ${stored?.slug ?? ''}`;
  return fail(
    'forbidden',
    `${whose} passes nothing through: use the gateway's own operations, as /chat/completions`,
  );
}

/** @param isJson whether the body is readable JSON of another form */
function unreadable({ head, path }: RawRequest, why: string, isJson: boolean): GatewayError {
  const name = path.form?.name;
  const what =
    name === undefined
      ? "this path's requests cannot be read"
      : isJson
        ? `the body is not one of ${name}`
        : `the body cannot be read as JSON of ${name} (plain UTF-8, each member named once, within the body limit)`;
  return fail(
    'forbidden',
    `${head.method} is not passed through: ${why}, and ${what}. Use the gateway's own operations, as /chat/completions, or a path of a known form (Responses, Messages, generateContent, Converse); an operator may set GATEWAY_RAW_PATHS=allow`,
  );
}
