// Calls at the cache as tests make them.

import type { StreamForm, WholeForm } from '../../../src/inference/cache/form.ts';
import type { CacheSubject } from '../../../src/inference/cache/key.ts';
import type { CacheReport } from '../../../src/inference/cache/report.ts';
import type { CacheCall } from '../../../src/inference/cache/response-cache.ts';
import type { CacheSettings } from '../../../src/inference/cache/settings.ts';
import { Aborter } from '../../../src/lib/abort.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';

export const SIMPLE: CacheSettings = {
  mode: 'simple',
  maxAgeSeconds: 60,
  forceRefresh: false,
  namespace: undefined,
  threshold: 0.95,
  embeddings: undefined,
  shadow: false,
};

export function subject(
  body: unknown,
  organisationId: string,
  more: Partial<CacheSubject> = {},
): CacheSubject {
  return {
    organisationId,
    workspaceId: 'w',
    target: {
      provider: providerById('openai')!,
      apiKey: 'sk-test',
      options: {},
      customHost: undefined,
      strict: true,
    },
    operation: 'chat',
    model: 'm',
    request: {
      method: 'POST',
      origin: 'https://api.openai.com',
      path: '/v1/chat/completions',
      headers: ['content-type', 'application/json'],
      body: typeof body === 'string' ? body : JSON.stringify(body),
    },
    metadata: {},
    ...more,
  };
}

export interface Asked {
  readonly call: CacheCall;
  readonly aborter: Aborter;
  /** As told last. */
  readonly report: () => CacheReport;
  readonly reports: CacheReport[];
}

export function ask(
  about: CacheSubject,
  settings: CacheSettings | undefined,
  more: Partial<CacheCall> = {},
): Asked {
  const aborter = new Aborter();
  const reports: CacheReport[] = [];
  return {
    aborter,
    reports,
    report: () => reports.at(-1)!,
    call: {
      settings,
      subject: async () => about,
      signal: aborter,
      note: (report) => reports.push(report),
      ...more,
    },
  };
}

/** Answers that are texts. */
export const TEXT: WholeForm<string> = {
  encode: (answer) => answer,
  decode: (body) => Buffer.from(body).toString(),
};

/** Streams of texts; a whole answer is one piece per word. */
export const PIECES: StreamForm<string> = {
  encode: (chunk) => chunk,
  decode: (bytes) => Buffer.from(bytes).toString(),
  fromWhole: (body) => Buffer.from(body).toString().split(' '),
  usage: false,
};

export async function* pieces(list: readonly string[], fault?: Error): AsyncGenerator<string> {
  for (const piece of list) {
    await new Promise((resolve) => setImmediate(resolve));
    yield piece;
  }
  if (fault) throw fault;
}

export async function read<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of stream) all.push(piece);
  return all;
}

export const soon = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
