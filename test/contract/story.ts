// Tests whose steps need each other's answers, told once and run over every protocol.
import { inspect } from 'node:util';
import type { DescMethod } from '@bufbuild/protobuf';
import test, { type ExecutionContext } from 'ava';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Bench,
  exchange,
  type Json,
  type JsonObject,
  type Outcome,
  PROTOCOLS,
  type Protocol,
} from './runner.ts';

/** What a refusal looked like. */
export interface Refused {
  readonly status: number;
  readonly param: string | null;
  readonly message: string;
  /** Fields of the violations. */
  readonly fields: readonly string[];
}

/** Calls one protocol as one caller. */
export class Caller {
  readonly protocol: Protocol;
  readonly #bench: () => Bench;
  readonly #key: string;

  constructor(bench: () => Bench, protocol: Protocol, key: string = ADMIN_KEY) {
    this.protocol = protocol;
    this.#bench = bench;
    this.#key = key;
  }

  /** The same protocol with another key. */
  as(key: string): Caller {
    return new Caller(this.#bench, this.protocol, key);
  }

  exchange(
    method: DescMethod,
    body: JsonObject,
    given: Readonly<Record<string, string | undefined>> = {},
    prefix?: string,
  ): Promise<Outcome> {
    const headers = { 'x-gateway-api-key': this.#key, authorization: undefined, ...given };
    return exchange(this.#bench(), { method, body, headers }, this.protocol, prefix);
  }

  async ok(method: DescMethod, body: JsonObject = {}): Promise<JsonObject> {
    const { error, json } = await this.exchange(method, body);
    if (error) throw new Error(`${method.name}: ${inspect(error, { depth: 6 })}`);
    return json;
  }

  async refused(
    method: DescMethod,
    body: JsonObject,
    given?: Readonly<Record<string, string | undefined>>,
  ): Promise<Refused> {
    return refusedOf(await this.exchange(method, body, given));
  }
}

/** @throws Error when it was none. */
export function refusedOf({ error, status, json }: Outcome): Refused {
  if (error === undefined) throw new Error(`not refused: ${JSON.stringify(json)}`);
  if (error.kind === 'rest') {
    const { message, param } = error.body.error as Record<string, Json>;
    const fields = ((error.body.errors ?? []) as JsonObject[]).map(({ field }) => String(field));
    return { status, param: param as string | null, message: String(message), fields };
  }
  const [detail] = error.details;
  return {
    status: detail?.httpStatus ?? 0,
    param: detail?.param || null,
    message: error.message,
    fields: (detail?.violations ?? []).map(({ field }) => field),
  };
}

/** Registers a test for each protocol. */
export function storiesOf(bench: () => Bench) {
  return (name: string, tell: (t: ExecutionContext, admin: Caller) => Promise<void>): void => {
    for (const protocol of PROTOCOLS)
      test(`${name} [${protocol}]`, (t) => tell(t, new Caller(bench, protocol)));
  };
}
