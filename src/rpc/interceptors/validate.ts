// Innermost: the rules on the fields, over every protocol.
import type { DescField, DescMessage, DescMethod, DescOneof, Message } from '@bufbuild/protobuf';
import type { Validator } from '@bufbuild/protovalidate';
import { union } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../../call/call.ts';
import { optionOf } from '../../lib/contract-options.ts';
import { fail, type Violation, validationFailed } from '../../lib/errors.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import { formOf } from '../../rest/form-shape.ts';
import { memberName } from '../../rest/json-shape.ts';
import { LIGHT_BYTES } from '../../rest/json-weight.ts';
import { streamTwinOf } from '../../rest/routes.ts';
import { type Handler, type Interceptor, isStream, type Output } from '../handler.ts';
import { type QuickCheck, quickCheck } from '../quick-check.ts';
import { hasManyParts, type LazyValidator } from '../validator.ts';

export function validateInterceptor(validator: LazyValidator): Interceptor {
  return (method) => {
    const prepare = streamFlag(method);
    const surelyValid = quickCheck(method.input);
    return (next) => (input, call) => {
      if (isStream(input)) return next(validated(validator, method, surelyValid, input), call);
      const read = (): Message => {
        const message = typeof input === 'function' ? input() : input;
        prepare(message);
        return message;
      };
      const rule = (message: Message): Promise<Output> => ruled(validator, method.input, message, next, call);
      if ((call.bodyBytes ?? 0) > LIGHT_BYTES)
        return inTurns(read, surelyValid, (message, sure) => (sure ? next(message, call) : rule(message)));
      const message = read();
      return surelyValid(message) ? next(message, call) : rule(message);
    };
  };
}

/** Decoding, the quick check, and the work after: each takes 20 to 40 ms for 6,000 messages at first. */
async function inTurns(
  read: () => Message,
  check: QuickCheck,
  then: (message: Message, sure: boolean) => Promise<Output>,
): Promise<Output> {
  await nextTurn();
  const message = read();
  await nextTurn();
  const sure = check(message);
  await nextTurn();
  return then(message, sure);
}

/** Judged by all rules. */
function ruled(
  validator: LazyValidator,
  desc: DescMessage,
  message: Message,
  next: Handler,
  call: Call,
): Promise<Output> {
  const many = hasManyParts(message);
  const preparing = validator.ready?.(desc, many);
  if (many || preparing !== undefined) return checkedAlone(validator, desc, message, preparing, next, call);
  check(validator, desc, message);
  return next(message, call);
}

/** Decoding before and the work after are not in the turn of the event loop in which the rules are applied. */
async function checkedAlone(
  validator: LazyValidator,
  desc: DescMessage,
  message: Message,
  preparing: Promise<void> | undefined,
  next: Handler,
  call: Call,
): Promise<Output> {
  await preparing;
  await nextTurn();
  check(validator, desc, message);
  await nextTurn();
  return next(message, call);
}

async function* validated(
  validator: LazyValidator,
  method: DescMethod,
  surelyValid: QuickCheck,
  messages: AsyncIterable<Message>,
): AsyncGenerator<Message> {
  const wrapper = formOf(method) !== undefined ? OF_FORMS : OF_SESSIONS;
  for await (const message of messages) {
    if (!surelyValid(message)) {
      await validator.ready?.(method.input, hasManyParts(message));
      check(validator, method.input, message, wrapper);
    }
    yield message;
  }
}

/** Violations that are told of one request. */
const MOST_VIOLATIONS = 100;

/** Messages that members stand in, which callers over REST do not see: of forms, and of what opens a session. */
const OF_FORMS = /^(?:head|tail)\./;
const OF_SESSIONS = /^open\./;

/**
 * @param wrapper the beginning of a path that is left out
 * @throws GatewayError validation_failed with every violation, at most 100
 */
export function check(validator: Validator, desc: DescMessage, message: Message, wrapper?: RegExp): void {
  const result = validator.validate(desc, message);
  if (result.kind === 'valid') return;
  if (result.kind === 'error')
    throw fail('internal', 'a rule could not be evaluated', { cause: result.error });
  throw validationFailed(
    result.violations.slice(0, MOST_VIOLATIONS).map((violation): Violation => {
      const full = fieldPath(violation.field);
      const path = wrapper === undefined ? full : full.replace(wrapper, '');
      const text = violation.message;
      // A rule over a whole message names its field in front of its text.
      const named = /^([a-z_.]+): (.*)$/s.exec(text);
      return named
        ? {
            field: path === '' ? named[1]! : `${path}.${named[1]}`,
            rule: violation.ruleId,
            message: named[2]!,
          }
        : { field: path, rule: violation.ruleId, message: text };
    }),
  );
}

/** Names of members by the fields of the contract's descriptors. */
const members = new WeakMap<object, string>();

function nameOf(element: PathElement): string {
  let name = members.get(element);
  if (name === undefined) {
    name = memberName(element as unknown as DescField);
    members.set(element, name);
  }
  return name;
}

type PathElement = { readonly kind?: string; readonly name?: string } & Record<string, unknown>;

/** The path as callers know it: JSON names, list indices, and no trace of the wrappers around unions. */
function fieldPath(path: readonly unknown[]): string {
  let text = '';
  for (const element of withoutBare(path as readonly PathElement[])) {
    if (element.kind === 'field') text += `${text ? '.' : ''}${nameOf(element)}`;
    else if (element.kind === 'list_sub') text += `[${String(element.index)}]`;
    else if (element.kind === 'map_sub') text += `["${String(element.key)}"]`;
  }
  return text;
}

/** A union is its member's bare value, or the bare list in it. */
function withoutBare(path: readonly PathElement[]): readonly PathElement[] {
  const bare = path.map((element) => {
    const oneof = element.oneof as DescOneof | undefined;
    return element.kind === 'field' && oneof !== undefined && optionOf(oneof, union);
  });
  return path.filter(
    (element, i) =>
      !bare[i] && !(bare[i - 1] === true && element.kind === 'field' && element.name === 'values'),
  );
}

/** On a streaming twin `stream` is implied; on a method that has one it must not be set over gRPC (REST selects the twin). */
function streamFlag(method: DescMethod): (input: Message) => void {
  const field = method.input.fields.find((candidate) => candidate.name === 'stream');
  if (field === undefined) return () => {};
  if (method.methodKind === 'server_streaming') {
    return (input) => {
      (input as Record<string, unknown> & Message).stream = true;
    };
  }
  const twin = streamTwinOf(method);
  return (input) => {
    if (twin && (input as Record<string, unknown> & Message).stream === true) {
      throw validationFailed([
        { field: 'stream', rule: 'stream.unary', message: `call ${twin.name} for a stream` },
      ]);
    }
  };
}
