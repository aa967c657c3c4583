// One tenant fills the sandbox with patterns that never end; another's checks run in between.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { AS_ADMIN, byConfig, many, saying, send } from '../caller.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'guardrail-fairness',
  attack: 'one workspace keeps 40 calls with exponential patterns under way while another has its checks run',
  bound: 'each call of the other one is judged, half of them within 1.5 s',
  test: 'test/checks/sandbox.test.ts',
  async run(lab) {
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway();
    const made = await send(gateway, '/admin/workspaces', { name: 'Victim' }, AS_ADMIN);
    const { id } = JSON.parse(made.text) as { id: string };
    const keyed = await send(
      gateway,
      '/api-keys/workspace/service',
      { name: 'victim', workspace_id: id, scopes: ['completions.write'] },
      AS_ADMIN,
    );
    const { key } = JSON.parse(keyed.text) as { key: string };
    const hostile = byConfig(provider.origin, {
      input_guardrails: many(5, () => ({ 'default.regexMatch': { rule: '^(a+)+$', not: true }, deny: true })),
    });
    const honest = {
      'x-gateway-api-key': key,
      ...byConfig(provider.origin, {
        input_guardrails: [{ 'default.regexMatch': { rule: 'b', not: true }, deny: true }],
      }),
    };
    const first = await send(gateway, '/chat/completions', saying('hi'), honest);
    if (first.status !== 200)
      throw new Error(`the other workspace cannot call: ${first.status} ${keyed.text} ${first.text}`);
    await gateway.longestTurnMs();
    let over = false;
    const attackers = many(40, async () => {
      while (!over)
        await send(gateway, '/chat/completions', saying(`${'a'.repeat(60)}!`), hostile).catch(() => {});
    });
    const took: number[] = [];
    const statuses: number[] = [];
    for (let i = 0; i < 15; i++) {
      const began = performance.now();
      statuses.push((await send(gateway, '/chat/completions', saying('hi'), honest)).status);
      took.push(performance.now() - began);
    }
    const turnMs = await gateway.longestTurnMs();
    over = true;
    await Promise.all(attackers);
    took.sort((one, other) => one - other);
    return [
      isTrue(
        'each call is judged',
        statuses.every((status) => status === 200),
        statuses.join(),
      ),
      atMost('half of the calls', took[7] ?? 0, 1500, 'ms'),
      atMost('longest turn of the event loop', turnMs, 50, 'ms'),
    ];
  },
};
export default scenario;
