// What stories about organisations, workspaces, people and deployments have in common.
import type { DescMethod } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { ExecutionContext, TestFn } from 'ava';
import { UserInvitesService } from '../../gen/gateway/admin/v2/user_invites_pb.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Bench,
  exchange,
  type JsonObject,
  type Outcome,
  PROTOCOLS,
  type Protocol,
  type Refusal,
  runCases,
  startBench,
} from './runner.ts';

export const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const { createUserInvite, acceptUserInvite } = UserInvitesService.method;

let count = 0;
export const fresh = (word: string): string => `${word}-${++count}`;

/** Calls one protocol as one caller. */
export class Caller {
  readonly protocol: Protocol;
  readonly #bench: () => Bench;
  readonly #key: string;

  constructor(bench: () => Bench, protocol: Protocol, key: string = ADMIN_KEY) {
    this.#bench = bench;
    this.protocol = protocol;
    this.#key = key;
  }

  exchange(method: DescMethod, body: JsonObject): Promise<Outcome> {
    const headers = { 'x-gateway-api-key': this.#key, authorization: undefined };
    return exchange(this.#bench(), { method, body, headers }, this.protocol);
  }

  /** The same with another key. */
  as(key: string): Caller {
    return new Caller(this.#bench, this.protocol, key);
  }

  async ok(method: DescMethod, body: JsonObject = {}): Promise<JsonObject> {
    const { error, json } = await this.exchange(method, body);
    if (error) throw new Error(`${method.name}: ${JSON.stringify(error)}`);
    return json;
  }

  async refused(
    t: ExecutionContext,
    method: DescMethod,
    body: JsonObject,
    status: number,
    param?: string,
  ): Promise<void> {
    const { error } = await this.exchange(method, body);
    if (error === undefined) return t.fail(`${method.name} is not refused`);
    if (error.kind === 'rest') {
      t.is((error.body.errorStatus as number | undefined) ?? statusOf(error.body), status, method.name);
      if (param !== undefined) t.is((error.body.error as JsonObject).param, param);
    } else {
      t.is(error.details[0]?.httpStatus, status, method.name);
      if (param !== undefined) t.is(error.details[0]?.param, param);
    }
  }
}

const AB_STATUS: Readonly<Record<string, number>> = { AB01: 400, AB03: 403, AB05: 401, AB07: 409, AB08: 404 };
function statusOf(body: JsonObject): number {
  return AB_STATUS[String((body.data as JsonObject | undefined)?.errorCode)] ?? 0;
}

export type Story = (name: string, tell: (t: ExecutionContext, admin: Caller) => Promise<void>) => void;

/** A gateway for a file's tests, and what registers its stories, each told over each protocol. */
export function openStories(test: TestFn): { readonly bench: () => Bench; readonly story: Story } {
  let opened: Bench | undefined;
  test.before(async () => {
    opened = await startBench();
  });
  test.after.always(() => opened?.close());
  const bench = (): Bench => opened as Bench;
  const story: Story = (name, tell) => {
    for (const protocol of PROTOCOLS)
      test(`${name} [${protocol}]`, (t) => tell(t, new Caller(bench, protocol)));
  };
  return { bench, story };
}

export const ids = (list: JsonObject): unknown[] => (list.data as JsonObject[]).map(({ id }) => id);

/** Invites, accepts, and answers with the user and their key in the workspace. */
export async function join(
  admin: Caller,
  workspace: string,
  role: string,
  scopes: string[],
): Promise<{ id: string; key: string; email: string }> {
  const email = `${fresh(role)}.${admin.protocol}@people.test`;
  const { invite_link: link } = await admin.ok(createUserInvite, {
    email,
    role: 'member',
    workspaces: [{ id: workspace, role }],
    workspace_api_key_details: { scopes },
  });
  const given = new URLSearchParams(new URL(String(link)).hash.slice(1));
  const accepted = await admin.ok(acceptUserInvite, {
    invite_id: String(given.get('id')),
    token: String(given.get('token')),
    first_name: 'Ada',
  });
  const [made] = accepted.api_keys as JsonObject[];
  return { id: String(accepted.user_id), key: String(made?.key), email };
}

/** Null in JSON; over Protobuf the field is named in `clear`. The codec reads JSON for all three. */
export function clearing(_: Caller, body: JsonObject, names: string[]): JsonObject {
  return { ...body, ...Object.fromEntries(names.map((name) => [name, null])) };
}

export const invalid = (param: string): Refusal => ({
  status: 400,
  code: Code.InvalidArgument,
  reason: 'validation_failed',
  param,
});
export const gone: Refusal = { status: 404, code: Code.NotFound, reason: 'not_found' };
export const forbidden: Refusal = { status: 403, code: Code.PermissionDenied, reason: 'forbidden' };
export const FOREIGN = '00000000-0000-4000-8000-000000000000';

/** What must be refused: a name, the method, the body, the refusal, and the caller's key when it is not the admin's. */
export type Refused = readonly [string, DescMethod, JsonObject, Refusal, string?];

/** Registers refusals, each over each protocol. */
export function runRefused(test: TestFn, bench: () => Bench, refused: readonly Refused[]): void {
  runCases(
    test,
    bench,
    refused.map(([name, method, body, refusal, key]) => ({
      name: `${method.name}: ${name}`,
      method,
      body,
      refused: refusal,
      headers: key === undefined ? ADMIN : { 'x-gateway-api-key': key, authorization: undefined },
    })),
  );
}
