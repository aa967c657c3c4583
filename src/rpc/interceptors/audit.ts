// Every action that the audit annotation names has an entry, allowed or not, and so has every failed
// authentication on the control plane. What a service changed it wrote down itself, together with the change;
// the rest is told from here. It stands outside auth so that it sees refusals.
import type { DescMethod, Message } from '@bufbuild/protobuf';
import { hasOption } from '@bufbuild/protobuf';
import { Plane } from '../../../gen/gateway/options/v2/options_pb.ts';
import { http } from '../../../gen/google/api/annotations_pb.ts';
import type { AuditEvents, EventTarget } from '../../access/audit/events.ts';
import type { Call } from '../../call/call.ts';
import { optionOf } from '../../lib/contract-options.ts';
import { type GatewayError, toGatewayError } from '../../lib/errors.ts';
import { decodeSegment, type PathTemplate, parsePathTemplate } from '../../rest/path-template.ts';
import { annotationsOf } from '../../rest/routes.ts';
import { type Handler, type Input, type Interceptor, isStream } from '../handler.ts';

export function auditInterceptor(events: AuditEvents): Interceptor {
  return (method) => {
    const { access, audit, plane } = annotationsOf(method);
    if (plane !== Plane.CONTROL) return access.open ? (next) => next : (next) => ofData(events, next);
    const targetOf = targetReader(method);
    return (next) => async (input, call) => {
      try {
        const output = await next(input, call);
        if (!audit.none && !call.audited) await events.done(call, targetOf(input, call));
        return output;
      } catch (thrown) {
        const error = toGatewayError(thrown);
        if (call.principal === undefined) {
          if (isRefusal(error) || !audit.none) events.unauthenticated(call, error);
        } else if (!audit.none) await events.failed(call, targetOf(input, call), error);
        throw thrown;
      }
    };
  };
}

/** Of an id or a name in an entry: what was refused may be as long as a body. */
const MOST_CHARS = 512;

/** Adds no work to model calls: a wrong key throws synchronously, a wrong token rejects the promise. */
function ofData(events: AuditEvents, next: Handler): Handler {
  const tell = (call: Call, thrown: unknown): void => {
    const error = toGatewayError(thrown);
    if (call.principal === undefined && isRefusal(error)) events.unauthenticatedData(call, error);
  };
  return (input, call) => {
    try {
      const output = next(input, call);
      if (call.principal !== undefined) return output;
      return output.catch((thrown: unknown) => {
        tell(call, thrown);
        throw thrown;
      });
    } catch (thrown) {
      tell(call, thrown);
      throw thrown;
    }
  };
}

function isRefusal({ reason }: GatewayError): boolean {
  return reason === 'unauthenticated' || reason === 'forbidden';
}

/** Reads what a call is about: the last id in its path, or the name of what it creates. */
function targetReader(method: DescMethod): (input: Input, call: Call) => EventTarget {
  const template = templateOf(method);
  const field = template?.fields.at(-1);
  const id = method.input.fields.find((candidate) => candidate.name === field)?.localName;
  const name = method.input.fields.find((candidate) => candidate.name === 'name')?.localName;
  const text = (message: Message, local: string | undefined): string => {
    const value = local === undefined ? undefined : (message as Message & Record<string, unknown>)[local];
    return typeof value === 'string' ? value.slice(0, MOST_CHARS) : '';
  };
  return (input, { source }) => {
    try {
      if (isStream(input)) return { id: '', name: '' };
      const message = typeof input === 'function' ? input() : input;
      return { id: text(message, id), name: text(message, name) };
    } catch {
      // A body that cannot be read tells nothing; the path of a REST call still does.
      const raw =
        field === undefined ? undefined : template?.match(source.path.slice(1).split('/'))?.get(field);
      return { id: ((raw && decodeSegment(raw)) ?? '').slice(0, MOST_CHARS), name: '' };
    }
  };
}

function templateOf(method: DescMethod): PathTemplate | undefined {
  if (!hasOption(method, http)) return undefined;
  const { value } = optionOf(method, http).pattern;
  return typeof value === 'string' ? parsePathTemplate(value) : undefined;
}
