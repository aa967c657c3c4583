// Speech (OpenAI API reference, "Create speech"): POST /audio/speech. The answer's bytes go on as they come.
import { create } from '@bufbuild/protobuf';
import {
  type CreateSpeechRequest,
  CreateSpeechRequestSchema,
} from '../../../../gen/gateway/inference/v2/audio_pb.ts';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { fail, type Violation, validationFailed } from '../../../lib/errors.ts';
import type { MessageJson, Outbound, ProviderEntry, StreamingOperation } from '../../dialect.ts';
import { textOf } from '../../json-object.ts';
import { wholeCall } from './request.ts';
import { readObject } from './response.ts';
import { headOf, mediaTypeOf, SPEECH_TYPES, spoken } from './speech-answer.ts';
import { SpeechBytes } from './speech-bytes.ts';

/** The operation over the given JSON. */
export function speech(
  json: MessageJson,
): StreamingOperation<CreateSpeechRequest, BinaryAnswer, BinaryAnswer> {
  const call = (request: CreateSpeechRequest, provider: ProviderEntry): Outbound => {
    checkWords(provider, request);
    const outbound = wholeCall('/audio/speech', json, CreateSpeechRequestSchema, request, provider);
    return { ...outbound, headers: HEADERS };
  };
  return {
    request: (request, { target }) => call(request, target.provider),
    streamRequest: (request, { target }) => call(request, target.provider),
    /** Some services answer with JSON that holds the audio in base64. */
    response(body, request, context) {
      const { audio, data, audio_data: own } = readObject(body, context);
      const text = textOf(audio) ?? textOf(own) ?? textOf(data);
      if (text === undefined)
        throw fail('upstream_garbage', 'the provider answered without audio', {
          provider: context.target.provider.id,
        });
      const bytes = new Uint8Array(Buffer.from(text.replace(/^data:[^,]*,/, ''), 'base64'));
      const answer = create(BinaryAnswerSchema, { kind: { case: 'chunk', value: bytes } });
      return { answer, usage: spoken(request), model: undefined };
    },
    stream: (request, { target }, answer) => new SpeechBytes(json, target.provider, request, answer),
    wholeAsChunks: (answer, request) => [headOf(mediaTypeOf(request)), answer],
  };
}

const HEADERS = Object.freeze(['content-type', 'application/json', 'accept', '*/*']);

/** OpenAI's own values, where OpenAI is called. @throws GatewayError `validation_failed` */
function checkWords(
  { ownWords }: ProviderEntry,
  { responseFormat, streamFormat, voice }: CreateSpeechRequest,
): void {
  if (!ownWords) return;
  const faults: Violation[] = [];
  if (voice === undefined) faults.push({ field: 'voice', rule: 'required', message: 'is required' });
  if (responseFormat !== undefined && !Object.hasOwn(SPEECH_TYPES, responseFormat)) {
    const message = `must be one of ${Object.keys(SPEECH_TYPES).join(', ')}`;
    faults.push({ field: 'response_format', rule: 'in', message });
  }
  if (streamFormat !== undefined && streamFormat !== 'audio' && streamFormat !== 'sse')
    faults.push({ field: 'stream_format', rule: 'in', message: 'must be one of audio, sse' });
  if (faults.length > 0) throw validationFailed(faults);
}
