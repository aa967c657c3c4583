// Videos (OpenAI API reference, "Create video", "Remix video"): jobs, whose seconds are charged when they begin.
import type { JsonObject, Message } from '@bufbuild/protobuf';
import {
  type RemixVideoRequest,
  type Video,
  type VideoHead,
  VideoSchema,
  VideosService,
} from '../../../../gen/gateway/inference/v2/videos_pb.ts';
import { type Violation, validationFailed } from '../../../lib/errors.ts';
import type { MessageJson, Operation, ProviderEntry, Translated } from '../../dialect.ts';
import { textOf } from '../../json-object.ts';
import { relayed } from '../../relayed.ts';
import { mediaUsage } from '../../usage/media.ts';
import { readObject } from './response.ts';

const SECONDS: readonly string[] = ['4', '8', '12'];
const SIZES: readonly string[] = ['720x1280', '1280x720', '1024x1792', '1792x1024'];

/** A video of a prompt: a form, whose bytes are the pipeline's to send, or JSON. */
export function createVideo(json: MessageJson): Operation<VideoHead, Video> {
  return {
    request(request, { target }) {
      checkWords(target.provider, request);
      return { method: 'POST', path: '/videos', headers: ['accept', '*/*'], body: undefined };
    },
    response: (body, { seconds }, context) => videoOf(json, readObject(body, context), seconds),
  };
}

/** A video changed by a prompt. */
export function remixVideo(json: MessageJson): Operation<RemixVideoRequest, Video> {
  const { request } = relayed(json, VideosService.method.remixVideo);
  return {
    request: (asked, context) => request(asked as Message, context),
    response: (body, _request, context) => videoOf(json, readObject(body, context), undefined),
  };
}

function videoOf(json: MessageJson, object: JsonObject, asked: string | undefined): Translated<Video> {
  const seconds = Number(object.seconds ?? asked ?? Number.NaN);
  const known = Number.isFinite(seconds) && seconds >= 0;
  return {
    answer: json.decode(VideoSchema, object),
    usage: known ? mediaUsage({ videoMs: Math.round(seconds * 1000) }) : undefined,
    model: textOf(object.model),
  };
}

/** OpenAI's own values, where OpenAI is called. @throws GatewayError `validation_failed` */
function checkWords({ ownWords }: ProviderEntry, { seconds, size }: VideoHead): void {
  if (!ownWords) return;
  const faults: Violation[] = [];
  if (seconds !== undefined && !SECONDS.includes(seconds))
    faults.push({ field: 'seconds', rule: 'in', message: `must be one of ${SECONDS.join(', ')}` });
  if (size !== undefined && !SIZES.includes(size))
    faults.push({ field: 'size', rule: 'in', message: `must be one of ${SIZES.join(', ')}` });
  if (faults.length > 0) throw validationFailed(faults);
}
