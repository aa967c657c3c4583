// Text from speech (OpenAI API reference, "Create transcription", "Create translation"): forms, whose bytes are the
// pipeline's to send. What is read here is an answer in JSON.
import {
  type Transcription,
  type TranscriptionHead,
  TranscriptionSchema,
  type TranslationHead,
} from '../../../../gen/gateway/inference/v2/audio_pb.ts';
import { type Violation, validationFailed } from '../../../lib/errors.ts';
import type { MessageJson, Operation, Outbound, ProviderEntry } from '../../dialect.ts';
import { transcriptionUsage } from '../../usage/transcription-usage.ts';
import { readObject } from './response.ts';

const HEADERS = Object.freeze(['accept', '*/*']);
const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
const GRANULARITIES: readonly string[] = ['word', 'segment'];

/** Speech written down. */
export function transcriptions(json: MessageJson): Operation<TranscriptionHead, Transcription> {
  return {
    request(request, { target }): Outbound {
      checkWords(target.provider, request, [...FORMATS, 'diarized_json']);
      return { method: 'POST', path: '/audio/transcriptions', headers: HEADERS, body: undefined };
    },
    response: readAnswer(json),
  };
}

/** Speech written down in English. */
export function translations(json: MessageJson): Operation<TranslationHead, Transcription> {
  return {
    request(request, { target }): Outbound {
      checkWords(target.provider, request, FORMATS);
      return { method: 'POST', path: '/audio/translations', headers: HEADERS, body: undefined };
    },
    response: readAnswer(json),
  };
}

function readAnswer(json: MessageJson): Operation<unknown, Transcription>['response'] {
  return (body, _request, context) => {
    const answer = readObject(body, context);
    return {
      answer: json.decode(TranscriptionSchema, answer),
      usage: transcriptionUsage(json, answer),
      model: undefined,
    };
  };
}

/** OpenAI's own values, where OpenAI is called. @throws GatewayError `validation_failed` */
function checkWords(
  { ownWords }: ProviderEntry,
  request: TranscriptionHead | TranslationHead,
  formats: readonly string[],
): void {
  if (!ownWords) return;
  const faults: Violation[] = [];
  const { responseFormat: format } = request;
  if (format !== undefined && !formats.includes(format))
    faults.push({ field: 'response_format', rule: 'in', message: `must be one of ${formats.join(', ')}` });
  const asked = 'timestampGranularities' in request ? request.timestampGranularities : [];
  if (asked.some((one) => !GRANULARITIES.includes(one)))
    faults.push({
      field: 'timestamp_granularities',
      rule: 'in',
      message: `must be of ${GRANULARITIES.join(', ')}`,
    });
  const included = 'include' in request ? request.include : [];
  if (included.some((one) => one !== 'logprobs'))
    faults.push({ field: 'include', rule: 'in', message: 'must be of logprobs' });
  if (faults.length > 0) throw validationFailed(faults);
}
