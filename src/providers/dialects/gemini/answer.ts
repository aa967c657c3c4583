// One answer (Gemini API reference, "GenerateContentResponse"), read event by event: a whole answer is one event, or a
// list of them.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChoiceLogprobs } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import type { MessageJson, TranslationContext } from '../../dialect.ts';
import { FailedAnswer } from '../../failed-answer.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import type { UsageReport } from '../../usage/report.ts';
import { GeminiSearches, withSearches } from '../../usage/searches.ts';
import { readUsage } from '../../usage/tap.ts';
import { failureStatus, finishReason, isWithheld } from './finish-reason.ts';
import { annotations, recitations } from './grounding.ts';
import { logprobs } from './logprobs.ts';
import { PartReader, type Piece } from './parts.ts';

/** What one event adds to one choice. */
export interface ChoiceEvent {
  readonly index: number;
  readonly pieces: readonly Piece[];
  readonly logprobs: ChoiceLogprobs | undefined;
  /** Set once, with the choice's last event. */
  readonly finish: Finish | undefined;
}

/** How a choice ended. */
export interface Finish {
  /** In OpenAI's words, or the provider's for callers that are not strict. */
  readonly reason: string;
  /** The prompt was refused, or the answer withheld before a word of it: why. */
  readonly refusal: string | undefined;
  /** OpenAI's url_citation annotations. */
  readonly annotations: JsonObject[];
  /** Gemini's own members of the choice: grounding, safety ratings, citations. */
  readonly own: JsonObject;
}

interface Choice {
  readonly parts: PartReader;
  text: string;
  /** Whether it has text, calls or media. */
  isSaid: boolean;
  grounding: JsonObject | undefined;
  citations: JsonObject | undefined;
  /** Gemini's own members so far. */
  readonly own: JsonObject;
  finished: boolean;
}

/** Gemini's members of a candidate that are passed on to callers that are not strict. */
const OWN = [
  'safetyRatings',
  'citationMetadata',
  'groundingMetadata',
  'urlContextMetadata',
  'finishMessage',
  'avgLogprobs',
];

/** Longest of the provider's words that an error quotes, in characters. */
const MOST_WORDS = 1000;
const MOST_REASON = 100;

/** Reads the events of one answer. */
export class GeminiAnswer {
  readonly #strict: boolean;
  readonly #provider: string;
  readonly #made: string;
  readonly #choices = new Map<number, Choice>();
  #id: string | undefined;
  #model: string | undefined;
  #usage: JsonObject | undefined;
  readonly #searches = new GeminiSearches();
  #blocked = false;

  constructor({ target, now }: TranslationContext) {
    this.#strict = target.strict;
    this.#provider = target.provider.id;
    this.#made = now().toString(36);
  }

  get id(): string {
    return this.#id ?? `gemini-${this.#made}`;
  }

  get model(): string | undefined {
    return this.#model;
  }

  /** What was counted. */
  usage(json: MessageJson): UsageReport {
    return withSearches(this.#counts(json), this.#searches.count(this.#model));
  }

  /** The same for the caller: undefined without a report that can be true. Strict: OpenAI's members. */
  told(json: MessageJson): Usage | undefined {
    const usage = this.#strict ? this.#counts(json) : this.usage(json);
    return usage === 'refused' ? undefined : usage;
  }

  #counts(json: MessageJson): UsageReport {
    return this.#usage && readUsage(json, this.#usage);
  }

  /** Whether every choice that began has ended. */
  get finished(): boolean {
    return (
      this.#blocked ||
      (this.#choices.size > 0 && [...this.#choices.values()].every(({ finished }) => finished))
    );
  }

  /** @throws FailedAnswer for a turn that failed */
  read(json: JsonObject): readonly ChoiceEvent[] {
    this.#id ??= textOf(json.responseId);
    this.#model = textOf(json.modelVersion) ?? this.#model;
    const counts = objectOf(json.usageMetadata);
    if (counts !== undefined) this.#usage = mergeUsage(this.#usage, counts);
    this.#searches.push(json);
    const candidates = arrayOf(json.candidates).filter(isObject);
    const feedback = objectOf(json.promptFeedback);
    const blocked = candidates.length === 0 ? textOf(feedback?.blockReason) : undefined;
    if (blocked !== undefined && feedback !== undefined && !this.#blocked)
      return [this.#block(blocked, feedback)];
    return candidates.map((candidate, place) => this.#candidate(candidate, place));
  }

  /** A prompt that was refused has no candidates. */
  #block(reason: string, feedback: JsonObject): ChoiceEvent {
    this.#blocked = true;
    const refusal = textOf(feedback.blockReasonMessage) ?? `the provider refused the prompt: ${reason}`;
    const word = this.#strict || !isWithheld(reason) ? 'content_filter' : reason;
    const own = { promptFeedback: feedback };
    return {
      index: 0,
      pieces: [],
      logprobs: undefined,
      finish: { reason: word, refusal, annotations: [], own },
    };
  }

  #candidate(candidate: JsonObject, place: number): ChoiceEvent {
    const index = typeof candidate.index === 'number' ? candidate.index : place;
    const choice = this.#choice(index);
    const parts = arrayOf(objectOf(candidate.content)?.parts).filter(isObject);
    const pieces = parts.flatMap((part) => choice.parts.read(part));
    choice.grounding = objectOf(candidate.groundingMetadata) ?? choice.grounding;
    choice.citations = objectOf(candidate.citationMetadata) ?? choice.citations;
    if (!this.#strict) keepOwn(choice.own, candidate);
    for (const piece of pieces) {
      if (piece.kind === 'text') choice.text += piece.text;
      if (piece.kind !== 'thought' && !(piece.kind === 'text' && piece.text === '')) choice.isSaid = true;
    }
    const reason = textOf(candidate.finishReason);
    const ends = reason !== undefined && reason !== 'FINISH_REASON_UNSPECIFIED' && !choice.finished;
    if (!ends) return { index, pieces, logprobs: logprobs(candidate), finish: undefined };
    const last = choice.parts.end();
    if (last.length > 0) choice.isSaid = true;
    return {
      index,
      pieces: [...pieces, ...last],
      logprobs: logprobs(candidate),
      finish: this.#finish(choice, reason, textOf(candidate.finishMessage)),
    };
  }

  /** @param words the provider's own of the reason */
  #finish(choice: Choice, reason: string, words: string | undefined): Finish {
    choice.finished = true;
    const status = failureStatus(reason, choice.isSaid);
    if (status !== undefined) {
      const why = words === undefined ? '' : `: ${words.slice(0, MOST_WORDS)}`;
      throw new FailedAnswer(`the model ended the answer with ${reason}${why}`, {
        provider: this.#provider,
        status,
        code: reason.slice(0, MOST_REASON),
      });
    }
    const isBare = !choice.isSaid && isWithheld(reason);
    return {
      reason: finishReason(reason, choice.parts.hasCalls, this.#strict),
      refusal: isBare ? (words ?? `the provider withheld the answer: ${reason}`) : undefined,
      annotations: [
        ...annotations(choice.grounding, choice.text),
        ...recitations(choice.citations, choice.text),
      ],
      own: choice.own,
    };
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const parts = new PartReader((call) => `call_${this.id}_${index}_${call}`);
    const choice: Choice = {
      parts,
      text: '',
      isSaid: false,
      grounding: undefined,
      citations: undefined,
      own: {},
      finished: false,
    };
    this.#choices.set(index, choice);
    return choice;
  }
}

/** The last of each of Gemini's own members of a candidate. */
function keepOwn(own: JsonObject, candidate: JsonObject): void {
  for (const name of OWN) {
    const value = candidate[name];
    if (value !== undefined && value !== null) own[name] = value;
  }
}
