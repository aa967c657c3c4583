// OCR (Mistral API reference, "OCR"): POST /ocr. Charged by pages.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateOcrRequest,
  CreateOcrRequestSchema,
  type Ocr,
  OcrSchema,
} from '../../../../gen/gateway/inference/v2/ocr_pb.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { arrayOf, objectOf, textOf } from '../../json-object.ts';
import { mediaUsage } from '../../usage/media.ts';
import { countOf } from '../../usage/report.ts';
import { wholeCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation over the given JSON. */
export function ocr(json: MessageJson): Operation<CreateOcrRequest, Ocr> {
  return {
    request: (request, { target }) =>
      wholeCall('/ocr', json, CreateOcrRequestSchema, request, target.provider),
    response(body, _request, context) {
      const object = readObject(body, context);
      const answer = attachRawJson(
        lazyMessage(OcrSchema, () => json.decode(OcrSchema, object)),
        body,
      );
      return { answer, usage: mediaUsage({ pages: pagesOf(object) }), model: textOf(object.model) };
    },
  };
}

/** As the provider counts them; else as many as it answered with. */
function pagesOf(answer: JsonObject): number {
  const told = countOf(objectOf(answer.usage_info)?.pages_processed);
  return told === undefined || Number.isNaN(told) ? arrayOf(answer.pages).length : told;
}
