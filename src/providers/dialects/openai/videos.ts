// Videos (OpenAI API reference, "Create video", "Remix video"): jobs, whose seconds are charged when they begin.
import type { JsonObject, Message } from '@bufbuild/protobuf';
import {
  type RemixVideoRequest,
  type Video,
  type VideoHead,
  VideoSchema,
  VideosService,
} from '../../../../gen/gateway/inference/v2/videos_pb.ts';
import type { MessageJson, Operation, Translated } from '../../dialect.ts';
import { textOf } from '../../json-object.ts';
import { relayed } from '../../relayed.ts';
import { mediaUsage } from '../../usage/media.ts';
import { readObject } from './response.ts';

/** A video of a prompt: a form, whose bytes are the pipeline's to send, or JSON. */
export function createVideo(json: MessageJson): Operation<VideoHead, Video> {
  return {
    request: () => ({ method: 'POST', path: '/videos', headers: ['accept', '*/*'], body: undefined }),
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
