// The explanation of a denied call names the guardrails, their checks and verdicts: over REST in the body, over
// Connect and gRPC among the detail's members.
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { type Bench, exchange, type JsonObject, type Outcome, PROTOCOLS, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const method = ChatService.method.createChatCompletion;
const messages = [{ role: 'user', content: 'tell me a secret' }];
const denying = (word: string): JsonObject => ({
  id: 'no-words',
  'default.contains': { words: [word], operator: 'none' },
  'default.characterCount': { maxCharacters: 1000 },
  deny: true,
});

function explanationOf({ error }: Outcome): JsonObject {
  if (error === undefined) return {};
  const members = error.kind === 'rest' ? error.body : (error.details[0]?.members as JsonObject | undefined);
  return (members?.gateway_explain ?? {}) as JsonObject;
}

for (const protocol of PROTOCOLS) {
  for (const stream of [false, true]) {
    for (const [side, key, word] of [
      ['input', 'input_guardrails', 'secret'],
      ['output', 'output_guardrails', 'Hello'],
    ] as const) {
      test(`an ${side} denial${stream ? ' of a stream' : ''} is explained [${protocol}]`, async (t) => {
        const asked = (explain: boolean) =>
          exchange(
            bench,
            {
              method,
              body: { model: 'gpt-ok', messages, ...(stream ? { stream } : {}) },
              ...(explain ? { headers: { 'x-gateway-explain': 'true' } } : {}),
              config: (host) => ({
                provider: 'openai',
                api_key: 'k',
                custom_host: host,
                [key]: [denying(word)],
              }),
            },
            protocol,
          );
        const { guardrails } = explanationOf(await asked(true));
        const [hook] = ((guardrails as JsonObject | undefined)?.[side] ?? []) as JsonObject[];
        t.like(hook, { id: 'no-words', verdict: false, deny: true });
        const checks = hook!.checks as JsonObject[];
        t.like(
          checks.find(({ id }) => id === 'default.contains'),
          { verdict: false },
        );
        t.deepEqual(explanationOf(await asked(false)), {});
      });
    }
  }
}
