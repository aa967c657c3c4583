// A workspace whose calls never end, and more of them than the gateway takes at once.
import { startFakeProvider } from '../../support/fake-provider.ts';
import { ok, send } from '../../support/front-door.ts';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { chatHeaders } from '../../support/limits-client.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const PLACES = 40;
const HOGS = 400;
const OTHERS = 100;

const scenario: Scenario = {
  name: 'in-flight-hog',
  attack: `one workspace keeps ${HOGS} calls open where ${PLACES} may be in flight`,
  bound: 'calls of another workspace and of the control plane are all answered, within a second',
  test: 'test/rpc/in-flight.test.ts',
  async run(lab) {
    const [gateway, provider] = await Promise.all([
      lab.startGateway({ GATEWAY_MAX_IN_FLIGHT: String(PLACES) }),
      startFakeProvider(),
    ]);
    lab.onEnd(() => provider.close());
    await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Quiet', slug: 'quiet' } });
    const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', {
      body: { name: 'quiet', workspace_id: 'quiet', scopes: ['completions.write'] },
    });
    // Code that runs for the first time is no part of the attack.
    for (let i = 0; i < 50; i++)
      await Promise.all([send(gateway, 'GET', '/configs'), send(gateway, 'GET', '/logs')]);
    const hogs = new AbortController();
    lab.onEnd(() => hogs.abort());
    const call = async (model: string, own: string, signal?: AbortSignal): Promise<number> => {
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: chatHeaders(provider, own),
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
        ...(signal === undefined ? {} : { signal }),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    for (let i = 0; i < 50; i++) await call('gpt-ok', String(key));
    await gateway.longestTurnMs();
    let [refused, ended] = [0, 0];
    for (let i = 0; i < HOGS; i++) {
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      call('slow-60000', WORKSPACE_KEY, hogs.signal).then(
        (status) => {
          ended++;
          if (status === 503) refused++;
        },
        () => {},
      );
    }
    const held = (PLACES * 3) / 4;
    for (let tries = 0; tries < 500 && ended < HOGS - held; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    let [answered, controlled, slowest] = [0, 0, 0];
    for (let i = 0; i < OTHERS; i++) {
      const since = performance.now();
      const [model, control] = await Promise.all([
        call('gpt-ok', String(key)),
        send(gateway, 'GET', '/configs'),
      ]);
      slowest = Math.max(slowest, performance.now() - since);
      if (model === 200) answered++;
      if (control.status === 200) controlled++;
    }
    return [
      isTrue('the hog is refused above three quarters', refused === HOGS - held, `${refused} of ${HOGS}`),
      isTrue('another workspace is answered', answered === OTHERS, `${answered} of ${OTHERS}`),
      isTrue('the control plane is answered', controlled === OTHERS, `${controlled} of ${OTHERS}`),
      atMost('slowest of those', slowest, 1000, 'ms'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
