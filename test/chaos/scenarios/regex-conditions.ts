// An ordinary key asks for conditions with patterns, inline and saved, as many as are taken and far more.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { AS_ADMIN, byConfig, many, send } from '../caller.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const SOURCES = ['m*x', '[a-z]+x', '(m+)+x', '(m|m)*x'];

const scenario: Scenario = {
  name: 'regex-conditions',
  attack:
    'an ordinary key sends 1,500 $regex conditions inline and 7,500 in a saved config, and 50 that take exponential time',
  bound:
    'too many are a 400 with the path; 50 are tried within a second of a worker’s time; no turn over 50 ms',
  test: 'test/inference/plan/condition.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway();
    const body = { model: 'm'.repeat(1000), messages: [{ role: 'user', content: 'hi' }] };
    const config = (count: number, source: string) => ({
      strategy: {
        mode: 'conditional',
        // biome-ignore lint/suspicious/noThenProperty: the contract's name
        conditions: many(count, () => ({ query: { 'params.model': { $regex: source } }, then: 'a' })),
        default: 'a',
      },
      targets: [{ name: 'a' }],
    });
    const nested = (count: number) => ({
      ...config(1, 'x'),
      strategy: {
        mode: 'conditional',
        conditions: [
          // biome-ignore lint/suspicious/noThenProperty: the contract's name
          { query: { $or: many(count, () => ({ 'params.model': { $regex: 'm*x' } })) }, then: 'a' },
        ],
      },
    });
    const chat = (headers: Record<string, string>) => send(gateway, '/chat/completions', body, headers);
    await chat(byConfig(provider.origin, config(1, 'm*x')));
    await gateway.longestTurnMs();
    const inline = await chat(byConfig(provider.origin, nested(1500)));
    const saved = await send(gateway, '/configs', { name: 'x', config: nested(5500) }, AS_ADMIN);
    let longestMs = 0;
    for (const source of SOURCES) {
      const began = performance.now();
      const { status } = await chat(byConfig(provider.origin, config(50, source)));
      if (status !== 200) throw new Error(`50 conditions ${source}: ${status}`);
      longestMs = Math.max(longestMs, performance.now() - began);
    }
    return [
      isTrue(
        '1,500 inline are refused with the path',
        inline.status === 400 && inline.text.includes('$or[50]'),
      ),
      isTrue('5,500 saved are refused with the path', saved.status === 400 && saved.text.includes('$or[50]')),
      atMost('longest call with 50 patterns', longestMs, 10_000, 'ms'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
