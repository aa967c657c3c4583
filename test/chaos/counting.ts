// Checks that count, as many as a config takes, over texts of two million characters.
import { startFakeProvider } from '../support/fake-provider.ts';
import { byConfig, many, saying, send } from './caller.ts';
import { atMost, type ChaosLab, isTrue, type Verdict } from './scenario.ts';

/** Sends each text through 200 checks, and 1,000 that must be refused. @param texts by name */
export async function countUnderAttack(
  lab: ChaosLab,
  check: string,
  parameters: object,
  texts: readonly string[],
): Promise<readonly Verdict[]> {
  const provider = await startFakeProvider();
  lab.onEnd(() => provider.close());
  const gateway = await lab.startGateway();
  const hook = (count: number) => ({
    deny: true,
    checks: many(count, () => ({ id: check, parameters })),
  });
  const call = (content: string, hooks: object[]) =>
    send(
      gateway,
      '/chat/completions',
      saying(content),
      byConfig(provider.origin, { before_request_hooks: hooks }),
    );
  await call('hello. '.repeat(5000), [hook(20)]);
  await gateway.longestTurnMs();
  const refused = await call(
    'hi',
    many(20, () => hook(20)),
  );
  let longestMs = 0;
  const statuses = new Set<number>();
  for (const text of texts) {
    const began = performance.now();
    statuses.add(
      (
        await call(
          text,
          many(10, () => hook(20)),
        )
      ).status,
    );
    longestMs = Math.max(longestMs, performance.now() - began);
  }
  const meanwhile = await call('hi', [hook(1)]);
  return [
    isTrue(
      '400 checks are refused with the path',
      refused.status === 400 && refused.text.includes('before_request_hooks[10]'),
    ),
    isTrue(
      'each text is judged or denied',
      [...statuses].every((status) => status === 200 || status === 446),
      [...statuses].join(),
    ),
    isTrue('a short text passes behind it', meanwhile.status === 200, String(meanwhile.status)),
    atMost('longest call with 200 checks over 2 MB', longestMs, 30_000, 'ms'),
    atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
  ];
}
