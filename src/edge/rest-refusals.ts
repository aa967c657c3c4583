// What the REST surface refuses without asking a service, and in which form.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Form, type Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../call/call.ts';
import { fail, type GatewayError } from '../lib/errors.ts';
import { annotationsOf, type RouteMatch } from '../rest/routes.ts';
import { answerHeaders } from '../rpc/answer-headers.ts';
import { respondError } from './respond.ts';

/** Paths below Messages, as its batches, and callers that name Anthropic's version read errors in its form. */
export function passedFormOf(req: IncomingMessage, path: string): Form {
  const isTheirs = req.headers['anthropic-version'] !== undefined || MESSAGES_PATH.test(path);
  return isTheirs ? Form.MESSAGES : Form.UNSPECIFIED;
}

const MESSAGES_PATH = /^(?:\/anthropic)?(?:\/v1)?\/messages(?:[/?]|$)/;

/** The form of a route's errors, where one was found. */
export function formOf(match: RouteMatch | undefined): { form?: Form } {
  return match === undefined ? {} : { form: annotationsOf(match.route.method).form };
}

/** Longest path that an error repeats, in characters. */
const MAX_TOLD = 200;

export function unknownPath(path: string, nearest: string): GatewayError {
  const told = path.length > MAX_TOLD ? `${path.slice(0, MAX_TOLD)}…` : path;
  return fail(
    'route_unknown',
    `${told} is no path of this gateway; the nearest is ${nearest}. It is not passed through: a provider's own path of this name is reached as /proxy${told}`,
  );
}

export function overloaded(): GatewayError {
  return fail('overloaded', 'the gateway is at its limit of calls in flight', { retryAfterMs: 1000 });
}

export function notUpgraded(path: string): GatewayError {
  return fail(
    'validation_failed',
    `GET ${path} opens a WebSocket: send it with the headers Connection: Upgrade and Upgrade: websocket over HTTP/1.1`,
    { param: 'upgrade' },
  );
}

/** Answers with an error in the form of the call's method. @param form another one */
export function refuse(
  res: ServerResponse,
  error: GatewayError,
  plane: Plane,
  call: Call,
  form = annotationsOf(call.method).form,
): void {
  if (error.reason === 'client_closed') res.destroy();
  else
    respondError(
      res,
      error,
      { plane, aliased: call.headers.aliased, form, requestId: call.id },
      answerHeaders(call),
    );
}
