// Limit policies over every protocol: rate limits exactly as the specification has them.
import type { DescMethod } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { RateLimitPoliciesService } from '../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { UsageLimitPoliciesService } from '../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Case,
  exchange,
  type JsonObject,
  PROTOCOLS,
  type Refusal,
  runCases,
  startBench,
  UUID,
} from './runner.ts';

const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const rate = RateLimitPoliciesService.method;
const usage = UsageLimitPoliciesService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const RATE: JsonObject = {
  name: 'A name',
  conditions: [{ key: 'metadata.user_id', value: '*' }],
  group_by: [{ key: 'api_key' }, { key: 'metadata.user_id' }],
  type: 'requests',
  unit: 'rpm',
  value: 100,
};
const USAGE: JsonObject = {
  conditions: [{ key: 'workspace_id', value: ['a', 'b'], excludes: 'c' }],
  group_by: [{ key: 'organisation_id' }],
  type: 'cost',
  credit_limit: 12.5,
  periodic_reset: 'monthly',
};

for (const protocol of PROTOCOLS) {
  const call = async (method: DescMethod, body: JsonObject): Promise<JsonObject> => {
    const { error, json } = await exchange(bench, { method, body, headers: ADMIN }, protocol);
    if (error) throw new Error(`${method.name}: ${JSON.stringify(error)}`);
    return json;
  };
  const gone = async (method: DescMethod, body: JsonObject): Promise<boolean> => {
    const { error, status } = await exchange(bench, { method, body, headers: ADMIN }, protocol);
    return error !== undefined && (status === 404 || status === Code.NotFound);
  };

  test(`a rate-limit policy is made, shown, changed and archived [${protocol}]`, async (t) => {
    const made = await call(rate.createRateLimitPolicy, RATE);
    t.deepEqual(Object.keys(made).sort(), ['id', 'object']);
    t.regex(String(made.id), UUID);
    t.is(made.object, 'policy_rate_limits');
    const policy_id = String(made.id);
    const shown = await call(rate.getRateLimitPolicy, { policy_id });
    t.like(shown, { ...RATE, status: 'active', workspace_id: null });
    t.deepEqual(await call(rate.updateRateLimitPolicy, { policy_id, value: 5, unit: 'rpd', name: null }), {});
    t.like(await call(rate.getRateLimitPolicy, { policy_id }), { value: 5, unit: 'rpd', name: null });
    const listed = await call(rate.listRateLimitPolicies, { unit: 'rpd', type: 'requests', page_size: 1000 });
    t.true((listed.data as JsonObject[]).some(({ id }) => id === policy_id));
    t.deepEqual(await call(rate.deleteRateLimitPolicy, { policy_id }), {});
    t.true(await gone(rate.getRateLimitPolicy, { policy_id }));
    t.is((await call(rate.getRateLimitPolicy, { policy_id, status: 'archived' })).status, 'archived');
    t.true(await gone(rate.updateRateLimitPolicy, { policy_id, value: 6 }));
  });

  test(`a policy says what becomes of it without its store, and what it assumes [${protocol}]`, async (t) => {
    const flight = { ...RATE, unit: 'concurrent', value: 3, on_store_outage: 'local' };
    const { id } = await call(rate.createRateLimitPolicy, flight);
    const policy_id = String(id);
    t.like(await call(rate.getRateLimitPolicy, { policy_id }), { ...flight, assumed_output_tokens: null });
    const listed = await call(rate.listRateLimitPolicies, { unit: 'concurrent', page_size: 1000 });
    t.true((listed.data as JsonObject[]).some((one) => one.id === id));
    await call(rate.updateRateLimitPolicy, { policy_id, on_store_outage: null });
    t.is((await call(rate.getRateLimitPolicy, { policy_id })).on_store_outage, 'allow');
    await call(rate.deleteRateLimitPolicy, { policy_id });
    const given = { ...USAGE, on_store_outage: 'allow', assumed_output_tokens: 50 };
    const made = { policy_id: String((await call(usage.createUsageLimitPolicy, given)).id) };
    t.like(await call(usage.getUsageLimitPolicy, made), {
      on_store_outage: 'allow',
      assumed_output_tokens: 50,
    });
    await call(usage.updateUsageLimitPolicy, { ...made, on_store_outage: null, assumed_output_tokens: null });
    t.like(await call(usage.getUsageLimitPolicy, made), {
      on_store_outage: 'deny',
      assumed_output_tokens: 1024,
    });
    await call(usage.deleteUsageLimitPolicy, made);
  });

  test(`a policy of a workspace is the workspace's [${protocol}]`, async (t) => {
    const made = await call(rate.createRateLimitPolicy, { ...RATE, workspace_id: 'default' });
    const { workspaceId, organisationId } = bench.gateway.app.tenancy;
    const shown = await call(rate.getRateLimitPolicy, { policy_id: String(made.id) });
    t.like(shown, { workspace_id: workspaceId, organisation_id: organisationId });
    const there = await call(rate.listRateLimitPolicies, { workspace_id: 'default', page_size: 1000 });
    t.true((there.data as JsonObject[]).some(({ id }) => id === made.id));
  });

  test(`a usage-limit policy is made, shown, changed and archived [${protocol}]`, async (t) => {
    const made = await call(usage.createUsageLimitPolicy, USAGE);
    t.is(made.object, 'policy_usage_limits');
    const policy_id = String(made.id);
    const shown = await call(usage.getUsageLimitPolicy, { policy_id });
    t.like(shown, { ...USAGE, alert_threshold: null, periodic_reset_days: null });
    t.regex(String(shown.next_usage_reset_at), /-01T00:00:00\.000Z$/);
    await call(usage.updateUsageLimitPolicy, { policy_id, periodic_reset_days: 10, alert_threshold: 3 });
    const changed = await call(usage.getUsageLimitPolicy, { policy_id });
    t.like(changed, {
      periodic_reset: null,
      periodic_reset_days: 10,
      alert_threshold: 3,
      credit_limit: 12.5,
    });
    await call(usage.updateUsageLimitPolicy, { policy_id, periodic_reset_days: null, alert_threshold: null });
    t.like(await call(usage.getUsageLimitPolicy, { policy_id }), {
      periodic_reset: null,
      periodic_reset_days: null,
      alert_threshold: null,
      next_usage_reset_at: null,
    });
    await call(usage.deleteUsageLimitPolicy, { policy_id });
    t.true(await gone(usage.getUsageLimitPolicy, { policy_id }));
  });
}

const invalid = (param: string): Refusal => ({
  status: 400,
  code: Code.InvalidArgument,
  reason: 'validation_failed',
  param,
});
const OTHER = '00000000-0000-4000-8000-000000000000';
const without = (body: JsonObject, name: string): JsonObject => {
  const { [name]: _, ...rest } = body;
  return rest;
};

const REFUSED: readonly (readonly [string, DescMethod, JsonObject, string])[] = [
  ['no conditions', rate.createRateLimitPolicy, without(RATE, 'conditions'), 'conditions'],
  ['empty conditions', rate.createRateLimitPolicy, { ...RATE, conditions: [] }, 'conditions'],
  ['no group', rate.createRateLimitPolicy, { ...RATE, group_by: [] }, 'group_by'],
  ['no type', rate.createRateLimitPolicy, without(RATE, 'type'), 'type'],
  ['no unit', rate.createRateLimitPolicy, without(RATE, 'unit'), 'unit'],
  ['no value', rate.createRateLimitPolicy, without(RATE, 'value'), 'value'],
  ['a type that is none', rate.createRateLimitPolicy, { ...RATE, type: 'cost' }, 'type'],
  ['a unit that is none', rate.createRateLimitPolicy, { ...RATE, unit: 'rps' }, 'unit'],
  ['a value of nothing', rate.createRateLimitPolicy, { ...RATE, value: 0 }, 'value'],
  ['a long name', rate.createRateLimitPolicy, { ...RATE, name: 'x'.repeat(256) }, 'name'],
  [
    'a key that is none',
    rate.createRateLimitPolicy,
    { ...RATE, conditions: [{ key: 'model', value: 'x' }] },
    'conditions[0].key',
  ],
  [
    'metadata of nothing',
    rate.createRateLimitPolicy,
    { ...RATE, group_by: [{ key: 'metadata.' }] },
    'group_by[0].key',
  ],
  [
    'a group twice',
    rate.createRateLimitPolicy,
    { ...RATE, group_by: [{ key: 'api_key' }, { key: 'api_key' }] },
    'group_by[1].key',
  ],
  [
    'no value of a condition',
    rate.createRateLimitPolicy,
    { ...RATE, conditions: [{ key: 'api_key' }] },
    'conditions[0].value',
  ],
  [
    'another organisation',
    rate.createRateLimitPolicy,
    { ...RATE, organisation_id: OTHER },
    'organisation_id',
  ],
  [
    'an organisation that is no id',
    rate.createRateLimitPolicy,
    { ...RATE, organisation_id: 'x' },
    'organisation_id',
  ],
  ['another workspace', rate.createRateLimitPolicy, { ...RATE, workspace_id: OTHER }, 'workspace_id'],
  [
    'few tokens',
    usage.createUsageLimitPolicy,
    { ...USAGE, type: 'tokens', credit_limit: 99 },
    'credit_limit',
  ],
  [
    'a part of a request',
    usage.createUsageLimitPolicy,
    { ...USAGE, type: 'requests', credit_limit: 1.5 },
    'credit_limit',
  ],
  ['a threshold above', usage.createUsageLimitPolicy, { ...USAGE, alert_threshold: 13 }, 'alert_threshold'],
  ['two resets', usage.createUsageLimitPolicy, { ...USAGE, periodic_reset_days: 3 }, 'periodic_reset_days'],
  [
    'days out of range',
    usage.createUsageLimitPolicy,
    { ...without(USAGE, 'periodic_reset'), periodic_reset_days: 366 },
    'periodic_reset_days',
  ],
  [
    'a reset of nothing',
    usage.createUsageLimitPolicy,
    { ...without(USAGE, 'periodic_reset'), next_usage_reset_at: '2099-01-01T00:00:00Z' },
    'next_usage_reset_at',
  ],
  [
    'a day gone by',
    usage.createUsageLimitPolicy,
    { ...USAGE, next_usage_reset_at: '2020-01-01T00:00:00Z' },
    'next_usage_reset_at',
  ],
  ['tokens in flight', rate.createRateLimitPolicy, { ...RATE, type: 'tokens', unit: 'concurrent' }, 'unit'],
  [
    'an outage of no kind',
    rate.createRateLimitPolicy,
    { ...RATE, on_store_outage: 'wait' },
    'on_store_outage',
  ],
  [
    'no outage of a budget',
    usage.createUsageLimitPolicy,
    { ...USAGE, on_store_outage: '' },
    'on_store_outage',
  ],
  [
    'an assumption of nothing',
    usage.createUsageLimitPolicy,
    { ...USAGE, assumed_output_tokens: 0 },
    'assumed_output_tokens',
  ],
  [
    'tokens assumed of requests',
    rate.createRateLimitPolicy,
    { ...RATE, assumed_output_tokens: 10 },
    'assumed_output_tokens',
  ],
  ['a page out of range', rate.listRateLimitPolicies, { page_size: 1001 }, 'page_size'],
];

runCases(
  test,
  () => bench,
  REFUSED.map(
    ([name, method, body, param]): Case => ({
      name: `${method.name}: ${name}`,
      method,
      body,
      refused: invalid(param),
      headers: ADMIN,
    }),
  ),
);

runCases(
  test,
  () => bench,
  [rate.getRateLimitPolicy, rate.deleteRateLimitPolicy, usage.getUsageLimitPolicy].map(
    (method): Case => ({
      name: `${method.name}: an unknown policy`,
      method,
      body: { policy_id: OTHER },
      refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
      headers: ADMIN,
    }),
  ),
);
