// The calls of the proof: whole and streamed, with and without limits, with retries and fallbacks among them.
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { FAILING } from './counting-provider.ts';

/** What callers know of their calls. */
export interface Calls {
  made: number;
  /** Traces of calls whose answer came to its end with status 200. */
  readonly whole: Set<string>;
  readonly statuses: Map<string, number>;
}

export interface LoadFacts {
  /** Their addresses. */
  readonly gateways: readonly string[];
  readonly provider: string;
  readonly keys: readonly string[];
  /** Calls at a time. */
  readonly lanes: number;
  readonly over: () => boolean;
}

/** How calls are made, by turns. */
const WAYS = ['plain', 'plain', 'plain', 'slow', 'long', 'flaky', 'fallback', 'plain'] as const;
const BACK_OFF_MS = 20;

/** Begins calls, which go on until it is over: the counts so far, and the last ones. */
export function load(facts: LoadFacts): { readonly calls: Calls; readonly ended: Promise<Calls> } {
  const calls: Calls = { made: 0, whole: new Set(), statuses: new Map() };
  const agent = new Agent({ connections: null, pipelining: 1, keepAliveTimeout: 60_000 });
  const lane = async (number: number): Promise<void> => {
    for (let i = number; !facts.over(); i += 7) {
      const ok = await one(facts, calls, agent, i);
      if (!ok) await sleep(BACK_OFF_MS);
    }
  };
  const lanes = Promise.all(Array.from({ length: facts.lanes }, (_, i) => lane(i)));
  return { calls, ended: lanes.then(() => agent.destroy()).then(() => calls) };
}

/** One call; whether it came to its end. */
async function one(facts: LoadFacts, calls: Calls, agent: Agent, i: number): Promise<boolean> {
  const { gateways, keys } = facts;
  const pick = Math.floor(Math.random() * 1_000_000);
  const way = WAYS[i % WAYS.length] ?? 'plain';
  const streamed = pick % 3 === 0;
  const trace = `proof-${calls.made++}`;
  const count = (what: string): void => void calls.statuses.set(what, (calls.statuses.get(what) ?? 0) + 1);
  try {
    const answer = await request(`${gateways[pick % gateways.length]}/v1/chat/completions`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        'content-type': 'application/json',
        'x-gateway-trace-id': trace,
        'x-gateway-api-key': keys[(pick >> 4) % keys.length] ?? '',
        ...routed(way, facts.provider),
      },
      body: JSON.stringify({
        model: 'gpt-4o',
        max_tokens: 100,
        ...(streamed ? { stream: true } : {}),
        messages: [{ role: 'user', content: way }],
      }),
    });
    const text = await answer.body.text();
    count(String(answer.statusCode));
    const ended = streamed ? text.endsWith('data: [DONE]\n\n') : text.endsWith('}');
    if (answer.statusCode === 200 && ended) calls.whole.add(trace);
    return answer.statusCode === 200;
  } catch {
    count('broken off');
    return false;
  }
}

function routed(way: (typeof WAYS)[number], origin: string): Record<string, string> {
  const target = { provider: 'openai', custom_host: `${origin}/v1`, api_key: 'sk-proof' };
  const config =
    way === 'flaky'
      ? { ...target, retry: { attempts: 3, on_status_codes: [500] } }
      : way === 'fallback'
        ? {
            strategy: { mode: 'fallback' },
            targets: [{ ...target, override_params: { model: FAILING } }, target],
          }
        : target;
  return { 'x-gateway-config': JSON.stringify(config) };
}
