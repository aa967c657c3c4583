// What is sent and answered in the bench.

/** Events with content in a stream; `data: [DONE]` follows them. */
export const STREAM_EVENTS = 200;
export const BIG_BODY_BYTES = 10_000_000;
export const STREAM_END = 'data: [DONE]\n\n';

/** The event that reports the usage of a stream. */
export const STREAM_USAGE = `data: ${JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion.chunk',
  created: 1700000000,
  model: 'gpt-bench',
  choices: [],
  usage: { prompt_tokens: 12, completion_tokens: 199, total_tokens: 211 },
})}\n\n`;

/** Which behaviour of the upstream's streams a request asks for, by its model. */
export type StreamKind = 'burst' | 'paced' | 'first' | 'idle';
/** Milliseconds between two events of a paced stream. */
export const PACE_MS = 10;

/** A chat completion of exactly 500 bytes. */
export const CHAT_ANSWER = padded(500, (content) =>
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1700000000,
    model: 'gpt-bench',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 120, completion_tokens: 40, total_tokens: 160 },
    system_fingerprint: 'fp_bench',
  }),
);

/** A chat request whose body has the given number of bytes. */
export function chatRequest(bytes: number): string {
  return padded(bytes, (content) =>
    JSON.stringify({
      model: 'gpt-bench',
      messages: [
        { role: 'system', content: 'You are a careful assistant.' },
        { role: 'user', content },
      ],
      temperature: 0.5,
      max_tokens: 64,
    }),
  );
}

/** A chat request for a stream. @param bounded with the bound that messages must have */
export function streamRequest(kind: StreamKind, bounded = false): string {
  return JSON.stringify({
    model: `gpt-bench-${kind}`,
    stream: true,
    ...(bounded ? { max_tokens: 4096 } : {}),
    messages: [{ role: 'user', content: 'Count to two hundred.' }],
  });
}

/** A request for a response of so many bytes, not kept as agents ask; a stream where a kind is given. */
export function responseRequest(bytes: number, kind?: StreamKind): string {
  return padded(bytes, (input) =>
    JSON.stringify({
      model: kind === undefined ? 'gpt-bench' : `gpt-bench-${kind}`,
      ...(kind === undefined ? {} : { stream: true }),
      instructions: 'You are a careful assistant.',
      input,
      store: false,
      max_output_tokens: 64,
    }),
  );
}

/** The events of a stream, `[DONE]` not among them. */
export function streamEvents(): string[] {
  return Array.from({ length: STREAM_EVENTS }, (_, i) => {
    const last = i === STREAM_EVENTS - 1;
    const delta = last ? {} : i === 0 ? { role: 'assistant', content: '' } : { content: ` word${i}` };
    const json = {
      id: 'chatcmpl-bench',
      object: 'chat.completion.chunk',
      created: 1700000000,
      model: 'gpt-bench',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: last ? 'stop' : null }],
    };
    return `data: ${JSON.stringify(json)}\n\n`;
  });
}

function padded(bytes: number, make: (filling: string) => string): string {
  const words = 'the quick brown fox jumps over the lazy dog ';
  const room = bytes - make('').length;
  return make(words.repeat(Math.ceil(room / words.length)).slice(0, room));
}
