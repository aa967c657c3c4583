// Audio: speech, text from speech, and voices.
import type {
  CreateSpeechRequest,
  CreateTranscriptionRequest,
  CreateTranslationRequest,
  ListVoicesRequest,
  Transcription,
  TranscriptionHead,
  TranslationHead,
} from '../../gen/gateway/inference/v2/audio_pb.ts';
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import type { Call } from '../call/call.ts';
import type { UploadMessage } from './files/form-reader.ts';
import { bytesOf } from './media/form-answer.ts';
import { runForm } from './media/run-form.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

const FILES = { member: 'file', most: { file: 1 } } as const;

type AudioForm = 'transcriptions' | 'translations';
type Messages = AsyncIterable<UploadMessage<TranscriptionHead & TranslationHead>>;

/** The methods of AudioService. */
export function audioService(pipeline: Pipeline) {
  const message = async (name: AudioForm, messages: unknown, call: Call): Promise<Transcription> => {
    const run = { files: FILES, typed: true };
    const { message: answer } = await runForm(pipeline, call, name, messages as Messages, run);
    return answer!;
  };
  const bytes = async (
    name: AudioForm,
    messages: unknown,
    call: Call,
  ): Promise<AsyncIterable<BinaryAnswer>> => {
    const run = { files: FILES, typed: false };
    const answer = await runForm(pipeline, call, name, messages as Messages, run);
    return answer.events ?? inPieces(bytesOf(answer.kept, name, answer.message));
  };
  return {
    createSpeech: (request: CreateSpeechRequest, call: Call) =>
      runStream(pipeline, call, 'speech', request, request.model),
    createTranscription: (messages: AsyncIterable<CreateTranscriptionRequest>, call: Call) =>
      message('transcriptions', messages, call),
    streamTranscription: (messages: AsyncIterable<CreateTranscriptionRequest>, call: Call) =>
      bytes('transcriptions', messages, call),
    createTranslation: (messages: AsyncIterable<CreateTranslationRequest>, call: Call) =>
      message('translations', messages, call),
    streamTranslation: (messages: AsyncIterable<CreateTranslationRequest>, call: Call) =>
      bytes('translations', messages, call),
    listVoices: (request: ListVoicesRequest, call: Call) =>
      runWhole(pipeline, call, 'voices', request, undefined),
  };
}

async function* inPieces(pieces: Iterable<BinaryAnswer>): AsyncGenerator<BinaryAnswer> {
  yield* pieces;
}
