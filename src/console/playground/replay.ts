// Puts the request of an entry into the playground.
import { useEffect } from 'preact/hooks';
import { ask, query } from '../router.ts';
import type { Asked } from './asked.ts';

interface Kept {
  readonly request?: {
    readonly body?: unknown;
    readonly url?: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  readonly entry?: { readonly provider?: string; readonly operation?: string };
  readonly error?: { readonly message?: string };
}

interface Message {
  readonly role?: string;
  readonly content?: unknown;
}

/** What the playground has fields for, of a request. */
type Replayed = Pick<Asked, 'system' | 'before' | 'message' | 'tools' | 'parameters' | 'maxTokens'>;

/** While the address has `replay`, reads that entry once. */
export function useReplay(put: (asked: Replayed) => void, fail: (fault: string) => void): void {
  const id = query.value.get('replay') ?? '';
  useEffect(() => {
    if (id === '') return;
    const left = new AbortController();
    read(id, left.signal).then(put, (error: unknown) => {
      if (!left.signal.aborted) fail(error instanceof Error ? error.message : String(error));
    });
    return () => left.abort();
  }, [id]);
}

async function read(id: string, signal: AbortSignal): Promise<Replayed> {
  const answer = await fetch(`/v1/logs/${encodeURIComponent(id)}`, { credentials: 'same-origin', signal });
  const kept = (await answer.json()) as Kept;
  if (!answer.ok) throw new Error(`The entry cannot be replayed: ${kept.error?.message ?? answer.status}`);
  const body = kept.request?.body;
  if (typeof body !== 'object' || body === null || !Array.isArray((body as { messages?: unknown }).messages))
    throw new Error('The entry has no chat that could be replayed: copy it as curl instead.');
  const asked = body as Record<string, unknown>;
  const chat = /\/messages$/.test(kept.request?.url ?? '') ? chatOf(asked) : asked;
  const { model = '', messages, tools, max_tokens, stream: _, ...others } = chat;
  const headers = kept.request?.headers ?? {};
  const baseUrl = headers['x-gateway-custom-host'] ?? '';
  ask(
    { model: String(model), provider: providerOf(kept, String(model)), base_url: baseUrl, replay: '' },
    true,
  );
  return fieldsOf(messages as readonly Message[], { tools, max_tokens, others });
}

/** A request of Anthropic's API as the chat that it is. */
function chatOf({
  system,
  messages,
  tools,
  stop_sequences: stop,
  ...others
}: Record<string, unknown>): Record<string, unknown> {
  const instructions = textOf(system);
  return {
    ...others,
    ...(stop !== undefined && { stop }),
    ...(Array.isArray(tools) && { tools: tools.map(toolOf) }),
    messages: [
      ...(instructions ? [{ role: 'system', content: instructions }] : []),
      ...(messages as readonly Message[]).map((one) => ({
        ...one,
        content: textOf(one.content) ?? one.content,
      })),
    ],
  };
}

/** A text, or its parts where all of them are texts; undefined for anything else. */
function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part: { readonly type?: string; readonly text?: string }) =>
    part?.type === 'text' ? part.text : undefined,
  );
  return texts.every((text) => text !== undefined) ? texts.join('\n') : undefined;
}

function toolOf(tool: { readonly [member: string]: unknown }): unknown {
  const { name, description, input_schema: parameters } = tool;
  return parameters === undefined ? tool : { type: 'function', function: { name, description, parameters } };
}

/** The provider as the call named it: a stored one needs no key. */
function providerOf({ request, entry }: Kept, model: string): string {
  const { 'x-gateway-virtual-key': stored, 'x-gateway-provider': named } = request?.headers ?? {};
  if (stored !== undefined && /^@?[\w.-]+$/.test(stored))
    return stored.startsWith('@') ? stored : `@${stored}`;
  return named ?? (model.startsWith('@') ? '' : (entry?.provider ?? ''));
}

interface Others {
  readonly tools: unknown;
  readonly max_tokens: unknown;
  readonly others: Readonly<Record<string, unknown>>;
}

function fieldsOf(messages: readonly Message[], { tools, max_tokens, others }: Others): Replayed {
  const [first] = messages;
  const hasSystem = first?.role === 'system' && typeof first.content === 'string' && messages.length > 1;
  const said = hasSystem ? messages.slice(1) : messages;
  const last = said.at(-1);
  const isPlain = last?.role === 'user' && typeof last.content === 'string';
  // What does not end with a person's text stands as it is, and the next message follows it.
  const before = isPlain ? said.slice(0, -1) : said;
  return {
    system: hasSystem ? String(first.content) : '',
    before: before.length === 0 ? '' : JSON.stringify(before, null, 2),
    message: isPlain ? String(last.content) : '',
    tools: Array.isArray(tools) && tools.length > 0 ? JSON.stringify(tools, null, 2) : '',
    parameters: Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2),
    maxTokens: typeof max_tokens === 'number' ? String(max_tokens) : '',
  };
}
