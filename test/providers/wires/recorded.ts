// Recordings of one provider's way of writing OpenAI's wire: the same answer whole and streamed.
import type { WireProfile } from './profiles.ts';

/** What an answer says. */
export interface Said {
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly ends: 'stop' | 'tools' | 'length';
}

/** An answer with nothing but text, one with thoughts, one that calls twice, and one that is cut short. */
export const SAYINGS: Readonly<Record<'text' | 'thoughts' | 'calls' | 'cut', Said>> = {
  text: { text: 'Grüezi, wörld 👋!', thought: '', calls: [], ends: 'stop' },
  thoughts: { text: 'Fünf.', thought: 'Zwei plus drei … fünf.', calls: [], ends: 'stop' },
  calls: {
    text: '',
    thought: '',
    calls: [
      { name: 'weather', arguments: '{"city":"Zürich","days":2}' },
      { name: 'weather', arguments: '{"city":"Oslo"}' },
    ],
    ends: 'tools',
  },
  cut: { text: 'It goes on and', thought: '', calls: [], ends: 'length' },
};

export const COUNTS = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } as const;

type Json = Record<string, unknown>;

const isInside = ({ counts = {} }: WireProfile): boolean => 'completion_tokens_details' in counts;

function countsOf(profile: WireProfile): Json {
  const { counts = {} } = profile;
  // Reasoning that is counted beside the completion (x-ai) is among the total.
  return { ...COUNTS, ...(isInside(profile) ? { total_tokens: 21 } : {}), ...counts };
}

/** What is paid. */
export function paidBy(profile: WireProfile): Json {
  return isInside(profile) ? { ...COUNTS, completion_tokens: 10, total_tokens: 21 } : COUNTS;
}

/** The word that it ends with. */
export function endOf({ finish = {}, calls }: WireProfile, { ends }: Said): string | null {
  const usual = { stop: 'stop', tools: 'tool_calls', length: 'length' }[ends];
  const own = finish[ends];
  return own === undefined || calls === undefined ? (own === undefined ? usual : own) : own;
}

function head(profile: WireProfile, object: string): Json {
  return { id: profile.id ?? 'chatcmpl-1', object, created: 1_700_000_000, model: 'm', ...profile.own };
}

const LOGPROBS = { content: [{ token: 'G', logprob: -0.5, bytes: [71], top_logprobs: [] }], refusal: null };

/** Thoughts as the provider writes them, whole or a piece of them. */
function thinking({ reasoning }: WireProfile, thought: string): Json {
  if (thought === '') return {};
  switch (reasoning) {
    case 'reasoning':
      return { reasoning: thought };
    case 'reasoning_details':
      return {
        reasoning: thought,
        reasoning_details: [{ type: 'reasoning.text', text: thought, format: 'unknown', index: 0 }],
      };
    case 'parts':
    case 'think':
      return {};
    default:
      return { reasoning_content: thought };
  }
}

function contentOf({ reasoning }: WireProfile, { text, thought }: Said): unknown {
  if (thought !== '' && reasoning === 'parts')
    return [
      { type: 'thinking', thinking: [{ type: 'text', text: thought }] },
      { type: 'text', text },
    ];
  return thought !== '' && reasoning === 'think' ? `<think>${thought}</think>${text}` : text;
}

/** The whole answer. */
export function wholeOf(profile: WireProfile, said: Said): Buffer {
  const { calls: way } = profile;
  const calls = said.calls.map(({ name, arguments: text }, index) => ({
    ...(way === 'no-id' ? {} : { id: `call_${index}`, type: 'function' }),
    function: { name, arguments: way === 'objects' ? JSON.parse(text) : text },
  }));
  const message = {
    role: 'assistant',
    content: said.calls.length > 0 ? null : contentOf(profile, said),
    ...thinking(profile, said.thought),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...profile.ownMessage,
  };
  const finish = endOf(profile, said);
  return Buffer.from(
    JSON.stringify({
      ...head(profile, 'chat.completion'),
      choices: [
        {
          index: 0,
          message,
          finish_reason: finish ?? '',
          ...(profile.logprobs ? { logprobs: LOGPROBS } : {}),
        },
      ],
      usage: countsOf(profile),
    }),
  );
}

/** The same answer as a stream. */
export function streamOf(profile: WireProfile, said: Said): Buffer {
  const { usage = 'last', comment, crlf, tight, noDone, nulls, roleOnly } = profile;
  const [eol, data] = [crlf ? '\r\n' : '\n', tight ? 'data:' : 'data: '];
  const counts = countsOf(profile);
  const deltas = deltasOf(profile, said);
  if (roleOnly) deltas.unshift({ role: 'assistant', content: '' });
  else deltas[0] = { role: 'assistant', ...deltas[0] };
  const empty = nulls ? { content: null, tool_calls: null, function_call: null } : {};
  const events: Json[] = deltas.map((delta, i) => ({
    ...head(profile, 'chat.completion.chunk'),
    choices: [
      {
        index: 0,
        delta: { ...empty, ...delta },
        ...(profile.logprobs && i === 1 ? { logprobs: LOGPROBS } : {}),
        finish_reason: null,
      },
    ],
    ...(usage === 'each' ? { usage: { ...counts, completion_tokens: 0, total_tokens: 11 } } : {}),
  }));
  const finish = endOf(profile, said);
  const choice = { index: 0, delta: nulls ? { content: '', role: null } : {}, finish_reason: finish };
  const last: Json = { ...head(profile, 'chat.completion.chunk'), choices: [choice] };
  if (usage === 'finish' || usage === 'each') last.usage = counts;
  if (usage === 'choice') last.choices = [{ ...choice, usage: counts }];
  if (usage === 'own') last.x_groq = { id: 'req_01', usage: counts };
  events.push(last);
  if (usage === 'last' || finish === null)
    events.push({ ...head(profile, 'chat.completion.chunk'), choices: [], usage: counts });
  const lines = events.flatMap((event, i) => [
    ...(comment !== undefined && i < 2 ? [comment] : []),
    `${data}${JSON.stringify(event)}`,
  ]);
  if (!noDone) lines.push(`${data}[DONE]`);
  return Buffer.from(lines.map((line) => line + eol + eol).join(''));
}

/** Texts in a few pieces, calls as the provider writes them. */
function deltasOf(profile: WireProfile, said: Said): Json[] {
  const { reasoning } = profile;
  const thoughts = halves(said.thought);
  const texts = halves(said.text).map((content): Json => ({ content }));
  const first: Json[] =
    reasoning === 'parts'
      ? thoughts.map((text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }))
      : reasoning === 'think'
        ? thoughts.length === 0
          ? []
          : ['<think>', ...thoughts, '</think>'].map((content) => ({ content }))
        : thoughts.map((thought) => thinking(profile, thought));
  return [...first, ...texts, ...said.calls.flatMap((call, i) => callDeltas(profile, call, i))];
}

function callDeltas(
  { calls }: WireProfile,
  { name, arguments: text }: Said['calls'][number],
  i: number,
): Json[] {
  const index = calls === 'no-index' ? {} : { index: calls === 'from-1' ? i + 1 : i };
  const id = calls === 'no-id' ? {} : { id: `call_${i}`, type: 'function' };
  const one = (more: Json): Json => ({ tool_calls: [{ ...index, ...more }] });
  if (calls === 'whole' || calls === 'objects')
    return [one({ ...id, function: { name, arguments: calls === 'objects' ? JSON.parse(text) : text } })];
  return [
    one({ ...id, function: { name, arguments: '' } }),
    ...halves(text).map((piece) => one({ function: { arguments: piece } })),
  ];
}

/** By characters, so that no pair of surrogates is cut. */
function halves(text: string): string[] {
  const characters = [...text];
  const middle = Math.ceil(characters.length / 2);
  return [characters.slice(0, middle).join(''), characters.slice(middle).join('')].filter(
    (half) => half !== '',
  );
}
