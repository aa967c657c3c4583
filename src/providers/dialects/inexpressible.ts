// What a chat completion may ask for and some wires cannot express. What would change the answer is refused by name;
// what would not is left out and told (left-out.ts).
import type { CreateChatCompletionRequest } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { type Violation, validationFailed } from '../../lib/errors.ts';

/** A member of the request. */
interface Member {
  /** Whether the request asks for it. */
  readonly asked: (request: CreateChatCompletionRequest) => boolean;
  readonly message: string;
}

const UNSUPPORTED = 'is not supported by this provider';

const MEMBERS = {
  n: { asked: ({ n }) => (n ?? 1) > 1, message: 'must be 1: this provider gives one answer' },
  logprobs: { asked: ({ logprobs }) => logprobs === true, message: UNSUPPORTED },
  top_logprobs: { asked: ({ topLogprobs }) => (topLogprobs ?? 0) > 0, message: UNSUPPORTED },
  logit_bias: { asked: ({ logitBias }) => Object.keys(logitBias).length > 0, message: UNSUPPORTED },
  frequency_penalty: { asked: ({ frequencyPenalty }) => (frequencyPenalty ?? 0) !== 0, message: UNSUPPORTED },
  presence_penalty: { asked: ({ presencePenalty }) => (presencePenalty ?? 0) !== 0, message: UNSUPPORTED },
  audio: { asked: ({ audio }) => audio !== undefined, message: UNSUPPORTED },
  modalities: {
    asked: ({ modalities }) => modalities.some((kind) => kind !== 'text'),
    message: 'must be ["text"]: this provider answers with text only',
  },
  web_search_options: {
    asked: ({ webSearchOptions }) => webSearchOptions !== undefined,
    message: UNSUPPORTED,
  },
  parallel_tool_calls: {
    asked: ({ parallelToolCalls }) => parallelToolCalls === false,
    message: 'cannot be false with this provider',
  },
  verbosity: { asked: ({ verbosity }) => (verbosity ?? 'medium') !== 'medium', message: UNSUPPORTED },
  functions: { asked: ({ functions }) => functions.length > 0, message: 'use tools instead' },
  function_call: {
    asked: ({ functionCall }) => functionCall !== undefined,
    message: 'use tool_choice instead',
  },
} as const satisfies Readonly<Record<string, Member>>;

/** What a wire cannot express, in the order of the violations: `true`, or what the wire says otherwise. */
export type Inexpressible = Readonly<Partial<Record<keyof typeof MEMBERS, true | Partial<Member>>>>;

/** What neither Anthropic's wire nor AWS's can express. @param search the tool that searches the web there */
export const claudeLacks = (search: string): Inexpressible => ({
  n: true,
  logprobs: true,
  top_logprobs: true,
  logit_bias: true,
  frequency_penalty: true,
  presence_penalty: true,
  audio: true,
  modalities: true,
  web_search_options: { message: `use a ${search} tool instead` },
  verbosity: true,
  functions: true,
  function_call: true,
});

/** The check of a wire, which throws GatewayError `validation_failed` with every member that cannot be expressed. */
export function refusing(members: Inexpressible): (request: CreateChatCompletionRequest) => void {
  const refused = Object.entries(members).map(([field, own]): Member & { readonly field: string } => {
    const usual: Member = MEMBERS[field as keyof typeof MEMBERS];
    return own === true ? { field, ...usual } : { field, ...usual, ...own };
  });
  return (request) => {
    const violations = refused
      .filter(({ asked }) => asked(request))
      .map(({ field, message }): Violation => ({ field, rule: 'unsupported', message }));
    if (violations.length > 0) throw validationFailed(violations);
  };
}
