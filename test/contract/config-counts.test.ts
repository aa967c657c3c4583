// Counts of conditions, hooks and checks that one call could be made to run: refused inline and where they are saved,
// with the path of the member.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { ConfigsService } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { GuardrailsService } from '../../gen/gateway/admin/v2/guardrails_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { type Bench, type Case, type JsonObject, runCases, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const many = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index));
const target: JsonObject = { provider: 'openai', api_key: 'k', name: 'a' };
const check: JsonObject = { id: 'default.wordCount', parameters: { maxWords: 5 } };
const conditional = (conditions: JsonObject[]): JsonObject => ({
  strategy: { mode: 'conditional', conditions, default: 'a' },
  targets: [target],
});
// biome-ignore lint/suspicious/noThenProperty: the contract's name
const rule = (query: JsonObject): JsonObject => ({ query, then: 'a' });

const CONFIGS: readonly (readonly [string, JsonObject, string])[] = [
  [
    'patterns',
    conditional(many(51, () => rule({ 'params.model': { $regex: 'x' } }))),
    'strategy.conditions[50].query.params.model.$regex',
  ],
  ['conditions', conditional(many(101, (i) => rule({ 'params.n': i }))), 'strategy.conditions'],
  [
    'nested tests',
    conditional([rule({ $or: many(501, (i) => ({ 'params.n': i })) })]),
    'strategy.conditions[0].query.$or[500].params.n',
  ],
  [
    'guardrails of a list',
    { ...target, input_guardrails: many(21, () => ({ wordCount: { maxWords: 5 } })) },
    'input_guardrails',
  ],
  [
    'checks of a hook',
    { ...target, before_request_hooks: [{ checks: many(21, () => check) }] },
    'before_request_hooks[0].checks',
  ],
  [
    'guardrails of all levels',
    {
      strategy: { mode: 'fallback' },
      targets: many(4, () => ({
        provider: 'openai',
        api_key: 'k',
        input_guardrails: many(16, () => ({ wordCount: { maxWords: 5 } })),
      })),
    },
    'targets[3].input_guardrails[12]',
  ],
  [
    'checks of all levels',
    {
      ...target,
      before_request_hooks: many(11, () => ({ checks: many(20, () => check) })),
    },
    'before_request_hooks[10]',
  ],
];

const CASES: Case[] = CONFIGS.flatMap(([name, config, path]): Case[] => [
  {
    name: `too many ${name}, inline`,
    method: ChatService.method.createChatCompletion,
    body: { model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] },
    config: () => config,
    refused: { status: 400, code: Code.InvalidArgument, reason: 'config_invalid', param: path },
  },
  {
    name: `too many ${name}, saved`,
    method: ConfigsService.method.createConfig,
    headers: { 'x-gateway-api-key': ADMIN_KEY },
    body: { name: `too many ${name}`, config },
    refused: { status: 400, code: Code.InvalidArgument, reason: 'config_invalid', param: `config.${path}` },
  },
]);
CASES.push({
  name: 'too many checks in a saved guardrail',
  method: GuardrailsService.method.createGuardrail,
  headers: { 'x-gateway-api-key': ADMIN_KEY },
  body: { name: 'too many', checks: many(21, () => check), actions: { deny: true } },
  refused: { status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param: 'checks' },
});
runCases(test, () => bench, CASES);
