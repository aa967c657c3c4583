// A model call of the console: its answer piece by piece, and how to stop it.
import { type Signal, signal } from '@preact/signals';
import { checkSession } from './api.ts';
import { duration, whole } from './figures.ts';
import { eventsOf } from './server-events.ts';

/** What is known of the answer. */
export interface Answer {
  readonly text: string;
  readonly state: 'idle' | 'busy' | 'done';
  readonly fault: string;
  /** Tokens and times. */
  readonly note: string;
  /** Id of the call's entry in the log. */
  readonly entry: string;
}

const IDLE: Answer = { text: '', state: 'idle', fault: '', note: '', entry: '' };

/** A call by REST, as programs make it. */
export interface ModelCall {
  /** Below /v1, e.g. `/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Chunk {
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly {
        readonly index?: number;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
  readonly error?: { readonly message?: string };
}

/** A long answer is written anew so often at the most. */
const SHOWN_MS = 40;

/** One place for an answer; a further call replaces it. */
export class Run {
  readonly answer: Signal<Answer> = signal(IDLE);
  #control: AbortController | undefined;

  stop(): void {
    this.#control?.abort();
  }

  /** Ends when the answer has; what goes wrong is in the answer. */
  async start({ path, headers, body }: ModelCall): Promise<void> {
    this.stop();
    const control = new AbortController();
    this.#control = control;
    const set = (change: Partial<Answer>): void => {
      if (this.#control === control) this.answer.value = { ...this.answer.value, ...change };
    };
    this.answer.value = { ...IDLE, state: 'busy' };
    try {
      const answer = await fetch(`/v1${path}`, {
        method: 'POST',
        credentials: 'same-origin',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ ...body, stream: true }),
        signal: control.signal,
      });
      set({ entry: answer.headers.get('x-gateway-request-id') ?? '' });
      if (!answer.ok || answer.body === null) throw new Error(await refusalOf(answer));
      await this.#read(answer.body, set);
    } catch (error) {
      set(control.signal.aborted ? { note: 'stopped' } : { fault: wordsOf(error) });
    }
    set({ state: 'done' });
  }

  async #read(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    set: (change: Partial<Answer>) => void,
  ): Promise<void> {
    const began = performance.now();
    let first: number | undefined;
    let text = '';
    let tokens = '';
    let tool = -1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (): void => {
      timer = undefined;
      set({ text, note: tokens });
    };
    try {
      for await (const data of eventsOf(body)) {
        if (data === '[DONE]') break;
        const { choices = [], usage, error } = JSON.parse(data) as Chunk;
        if (error !== undefined) throw new Error(error.message ?? 'the answer broke off');
        for (const { text: plain, delta } of choices) {
          text += plain ?? delta?.content ?? delta?.refusal ?? '';
          for (const { index = 0, function: called } of delta?.tool_calls ?? []) {
            if (index !== tool) text += `${text === '' ? '' : '\n'}${called?.name ?? ''} `;
            tool = index;
            text += called?.arguments ?? '';
          }
        }
        if (text !== '') first ??= performance.now() - began;
        if (usage) tokens = `${whole(usage.prompt_tokens)} + ${whole(usage.completion_tokens)} tokens`;
        timer ??= setTimeout(show, SHOWN_MS);
      }
    } finally {
      clearTimeout(timer);
      show();
    }
    const took = duration(performance.now() - began);
    const parts = [took, first === undefined ? '' : `first token ${duration(first)}`, tokens];
    set({ note: parts.filter((part) => part !== '').join(', ') });
  }
}

/** Why a call was refused. A session that has ended leads to the sign-in. */
async function refusalOf(answer: Response): Promise<string> {
  // The provider may refuse its own credential with the same status: the session says which it was.
  if (answer.status === 401) await checkSession();
  const known = (await answer.json().catch(() => ({}))) as { error?: { message?: string }; message?: string };
  return known.error?.message ?? known.message ?? `the gateway answered with ${answer.status}`;
}

/** Of a provider's words on an error; its entry has all of them. */
const MOST_WORDS = 2000;

function wordsOf(error: unknown): string {
  if (error instanceof TypeError) return 'the gateway does not answer';
  const words = error instanceof Error ? error.message : String(error);
  return words.length > MOST_WORDS ? `${words.slice(0, MOST_WORDS)}…` : words;
}
