// OCR.
import type { CreateOcrRequest } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of OcrService. */
export function ocrService(pipeline: Pipeline) {
  return {
    createOcr: (request: CreateOcrRequest, call: Call) =>
      runWhole(pipeline, call, 'ocr', request, request.model),
  };
}
