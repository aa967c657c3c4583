// What an answer of speech is made of, and what of it is charged.
import { create } from '@bufbuild/protobuf';
import type { CreateSpeechRequest } from '../../../../gen/gateway/inference/v2/audio_pb.ts';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { mediaUsage } from '../../usage/media.ts';

/** What is charged where no tokens are counted. */
export function spoken({ input = '' }: CreateSpeechRequest) {
  return mediaUsage({ characters: [...input].length });
}

export function headOf(contentType: string): BinaryAnswer {
  return create(BinaryAnswerSchema, { kind: { case: 'head', value: { contentType } } });
}

export const SPEECH_TYPES: Readonly<Record<string, string>> = Object.freeze({
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
});

/** The media type of the audio that is asked for. */
export function mediaTypeOf({ responseFormat = 'mp3' }: CreateSpeechRequest): string {
  return (
    (Object.hasOwn(SPEECH_TYPES, responseFormat) ? SPEECH_TYPES[responseFormat] : undefined) ??
    'application/octet-stream'
  );
}
