// Voices of speech: GET /audio/voices.
import {
  type ListVoicesRequest,
  type VoiceList,
  VoiceListSchema,
} from '../../../../gen/gateway/inference/v2/audio_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';
import { parseAnswer } from '../../parse-answer.ts';
import { getCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation over the given JSON. */
export function voices(json: MessageJson): Operation<ListVoicesRequest, VoiceList> {
  return {
    request({ limit, offset }) {
      const query = new URLSearchParams();
      if (limit !== undefined) query.set('limit', String(limit));
      if (offset !== undefined) query.set('offset', String(offset));
      return getCall(query.size === 0 ? '/audio/voices' : `/audio/voices?${query}`);
    },
    response(body, _request, context) {
      const value = parseAnswer(body, context.target.provider.id);
      const object = Array.isArray(value)
        ? { object: 'list', data: value.filter(isObject) }
        : readObject(body, context);
      const answer = attachRawJson(
        lazyMessage(VoiceListSchema, () => json.decode(VoiceListSchema, object)),
        Array.isArray(value) ? JSON.stringify(object) : body,
      );
      return { answer, usage: undefined, model: undefined };
    },
  };
}
