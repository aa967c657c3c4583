// A caller pads what a deny guardrail looks for, hides it in tools' arguments and in earlier messages, and makes a
// redaction run out of time.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { AS_ADMIN, byConfig, saying, send } from '../caller.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const PADDING = 'x'.repeat(2_200_000);
const WORD = 'FORBIDDEN';
const calling = (args: string) => ({
  model: 'gpt-ok',
  messages: [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }],
    },
  ],
});

const scenario: Scenario = {
  name: 'guardrail-padding',
  attack:
    'a caller pads a forbidden text, puts it into tools’ arguments and descriptions, escapes it, writes it with unseen or look-alike letters, or has a redaction time out',
  bound: 'nothing forbidden reaches the provider: each is a 446 whose verdict says why',
  test: 'test/checks/closed.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway();
    const contains = { 'default.contains': { words: [WORD], operator: 'none' }, deny: true };
    const redact = { 'default.regexReplace': { rule: `(a+)+$|${WORD}` } };
    const [head = '', ...tail] = WORD;
    const escaped = `\\u${head.charCodeAt(0).toString(16).padStart(4, '0')}${tail.join('')}`;
    const attacks: readonly (readonly [string, object, object])[] = [
      ['padding', saying(`${WORD} ${PADDING}`), contains],
      ['padding in arguments', calling(`{"a":"${WORD}${PADDING}"}`), contains],
      ['escapes in arguments', calling(`{"a":"${escaped}"}`), contains],
      ['escapes in arguments that are no JSON', calling(`{"a":"${escaped}"`), contains],
      [
        'too many parts',
        {
          model: 'gpt-ok',
          messages: [...Array(20_500).fill({ role: 'user' }), ...(saying(WORD).messages as object[])],
        },
        contains,
      ],
      ['unseen letters', saying([...WORD].join('\u200b')), contains],
      ['look-alike letters', saying(WORD.replace('O', '\u041e')), contains],
      [
        'a description of a tool',
        {
          ...saying('go on'),
          tools: [{ type: 'function', function: { name: 'f', description: WORD, parameters: {} } }],
        },
        { ...contains, scope: 'all' },
      ],
      ['a redaction that times out', saying(`${WORD} ${'a'.repeat(60)}!`), redact],
      ['a redaction of too much', saying(`${WORD} ${PADDING}`), redact],
    ];
    const passed: string[] = [];
    for (const [name, body, hook] of attacks) {
      const { status } = await send(
        gateway,
        '/chat/completions',
        body as Record<string, unknown>,
        byConfig(provider.origin, { input_guardrails: [hook] }),
      );
      if (status !== 446) passed.push(`${name}: ${status}`);
    }
    const saved = await send(
      gateway,
      '/guardrails',
      {
        name: 'all',
        checks: [{ id: 'default.contains', parameters: { words: [WORD], operator: 'none' } }],
        actions: { deny: true },
      },
      AS_ADMIN,
    );
    const { slug } = JSON.parse(saved.text) as { slug?: string };
    await send(gateway, '/admin/organisation/defaults', { input_guardrails: [slug] }, AS_ADMIN, 'PUT');
    const earlier = {
      model: 'gpt-ok',
      messages: [
        { role: 'user', content: WORD },
        { role: 'user', content: 'go on' },
      ],
    };
    const deadline = performance.now() + 5000;
    let status = 0;
    // A default counts within a second.
    while (status !== 446 && performance.now() < deadline)
      status = (await send(gateway, '/chat/completions', earlier, byConfig(provider.origin, {}))).status;
    const beforeDefault = provider.seen.length;
    await send(gateway, '/chat/completions', earlier, byConfig(provider.origin, {}));
    return [
      isTrue('each is a 446', passed.length === 0, passed.join('; ') || 'true'),
      isTrue(
        'a mandatory guardrail reads earlier messages',
        status === 446 && provider.seen.length === beforeDefault,
        String(status),
      ),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
