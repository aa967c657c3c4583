// Traffic of a month as a busy gateway has it, entry by entry and the same for the same number.
import type { RequestRecord } from '../../src/call/record.ts';
import { dice } from '../store/random-log.ts';

export const DAY_MS = 86_400_000;
/** Thirty days up to it. */
export const END = Date.UTC(2026, 10, 21);
export const DAYS = 30;
export const BEGIN = END - DAYS * DAY_MS;
export const ORGANISATION = 'org-bench-00000000-0000-4000-8000-000000000000';
export const USERS = 300_000;

const MODELS = 40;
const CODES = [400, 401, 404, 408, 429, 429, 429, 500, 502, 503];
const ERRORS = ['Rate limit reached for requests', 'The server had an error', 'context_length_exceeded'];

/** @param total over the whole time; entries come in order of time, a little out of order as calls last. */
export function generator(total: number): () => RequestRecord {
  const random = dice(20261121);
  const whole = (below: number): number => Math.floor(random() * below);
  /** Few have most of it: the first tenth of all has half. */
  const skewed = (below: number): number => Math.floor(below * random() ** 3);
  const hex = (digits: number): string => {
    let text = '';
    while (text.length < digits) text += whole(0x10000).toString(16).padStart(4, '0');
    return text.slice(0, digits);
  };
  const uuid = (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  let made = 0;

  return () => {
    const n = made++;
    const createdAt = Math.min(END - 1, BEGIN + Math.floor((n / total) * DAYS * DAY_MS) + whole(3000));
    const key = skewed(60);
    const model = skewed(MODELS);
    const provider = ['openai', 'anthropic', 'google', 'mistral'][model % 4] as string;
    const failed = random() < 0.04;
    const statusCode = failed ? (CODES[whole(CODES.length)] as number) : 200;
    const cached = random();
    const cacheStatus =
      cached < 0.05 ? 'HIT' : cached < 0.07 ? 'SEMANTIC HIT' : cached < 0.3 ? 'MISS' : undefined;
    const user = `user-${String(skewed(USERS)).padStart(6, '0')}`;
    const promptTokens = 20 + skewed(6000);
    const completionTokens = failed ? 0 : 5 + skewed(1500);
    const latencyMs = failed ? 30 + whole(500) : 200 + Math.floor(skewed(20_000_000)) / 1000;
    const cost = String(
      promptTokens * (150_000 + model * 70_000) + completionTokens * (600_000 + model * 90_000),
    );
    const usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
    const id = uuid();
    const outcome = failed ? ('error' as const) : ('success' as const);
    const name = `${provider}-model-${model}`;
    return {
      id,
      traceId: uuid(),
      organisationId: ORGANISATION,
      workspaceId: `ws-${key % 25}`,
      apiKeyId: `key-${key}`,
      createdAt,
      operation: 'CreateChatCompletion',
      protocol: 'rest',
      method: 'POST',
      path: n % 20 === 0 ? '/v1/embeddings' : '/v1/chat/completions',
      provider,
      model: name,
      responseModel: `${name}-2026-05-01`,
      statusCode,
      outcome,
      streamed: n % 3 === 0,
      latencyMs,
      metadata: { _user: user, environment: n % 9 ? 'prod' : 'test' },
      ...(failed
        ? { error: { reason: 'upstream_status', message: `${ERRORS[whole(3)]} (request ${hex(8)})` } }
        : { usage, cost }),
      ...(cacheStatus === undefined ? {} : { cacheStatus }),
      ...(cacheStatus?.endsWith('HIT') ? { saved: cost } : {}),
      ...(n % 2 ? { config: `pc-${key % 12}` } : {}),
      ...(n % 3 ? { virtualKey: `vk-${key % 15}` } : {}),
      ...(n % 5 === 0 ? { prompt: `pp-${whole(20)}`, promptVersion: 1 + whole(4) } : {}),
      ...(random() < 0.02 ? { retries: 1 + whole(3) } : {}),
      ...(random() < 0.01 ? { rescued: true as const } : {}),
      userId: `person-${whole(500)}`,
      attempts: [
        {
          id: `${id.slice(0, 8)}-1`,
          provider,
          host: `api.${provider}.example`,
          model: name,
          statusCode,
          outcome,
          startedAt: createdAt + 1,
          latencyMs: latencyMs - 1,
          ...(failed ? {} : { usage, cost }),
        },
      ],
    };
  };
}
