// OpenAI's dialect, in and out: the provider's answers are passed on unchanged.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { nativeMessages } from '../../forms/messages/native.ts';
import { nativeCompaction, nativeResponses } from '../../forms/responses/native.ts';
import {
  nativeCancel,
  nativeDelete,
  nativeGet,
  nativeInputItems,
} from '../../forms/responses/native-kept.ts';
import { sentHeaders } from '../../options/sent.ts';
import { relayedOperations } from '../../relayed.ts';
import { streamedFiles } from '../../relayed-bytes.ts';
import { tapUsage } from '../../usage/tap.ts';
import { chat } from './chat.ts';
import { completions } from './completions.ts';
import { embeddings } from './embeddings.ts';
import { readError } from './error.ts';
import { imageEdits, imageVariations } from './image-edits.ts';
import { images } from './images.ts';
import { model } from './model.ts';
import { models } from './models.ts';
import { moderations } from './moderations.ts';
import { ocr } from './ocr.ts';
import { realtimeSecret } from './realtime.ts';
import { rerank } from './rerank.ts';
import { speech } from './speech.ts';
import { transcriptions, translations } from './transcripts.ts';
import { createVideo, remixVideo } from './videos.ts';
import { voices } from './voices.ts';

/** The dialect of OpenAI and of all compatible providers. */
export function createOpenAiDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'openai',
    chat: chat(json),
    messages: nativeMessages(json),
    completions: completions(json),
    embeddings: embeddings(json),
    moderations: moderations(json),
    rerank: rerank(json),
    images: images(json),
    imageEdits: imageEdits(json),
    imageVariations: imageVariations(json),
    speech: speech(json),
    transcriptions: transcriptions(json),
    translations: translations(json),
    voices: voices(json),
    ocr: ocr(json),
    realtimeSecret: realtimeSecret(json, '/realtime/client_secrets'),
    realtimeSession: realtimeSecret(json, '/realtime/sessions'),
    transcriptionSession: realtimeSecret(json, '/realtime/transcription_sessions'),
    responses: nativeResponses(json),
    compactResponse: nativeCompaction(json),
    getResponse: nativeGet(json),
    deleteResponse: nativeDelete(json),
    cancelResponse: nativeCancel(json),
    inputItems: nativeInputItems(json),
    models: models(json),
    ...relayedOperations(json),
    ...streamedFiles(json),
    createVideo: createVideo(json),
    remixVideo: remixVideo(json),
    model: model(json),
    headers: sentHeaders,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
