// Operations of files whose bytes stream, in OpenAI's wire: where they go, and how their answers are read. The bytes
// themselves are the pipeline's.
import { ContainerFileSchema } from '../../gen/gateway/inference/v2/containers_pb.ts';
import { FileSchema } from '../../gen/gateway/inference/v2/files_pb.ts';
import { UploadPartSchema } from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { fail } from '../lib/errors.ts';
import type { Dialect, MessageJson, Outbound, TranslationContext } from './dialect.ts';
import { isObject } from './json-object.ts';
import { parseAnswer } from './parse-answer.ts';
import { pathSegment } from './path-segment.ts';
import type { STREAMED } from './relayed-rows.ts';

const JSON_ANSWER = Object.freeze(['accept', 'application/json']);
const ANY_ANSWER = Object.freeze(['accept', '*/*']);

/** The operations, for a dialect of OpenAI's form. */
export function streamedFiles(json: MessageJson): Pick<Dialect, keyof typeof STREAMED> {
  return {
    uploadFile: {
      request: () => at('POST', '/files', JSON_ANSWER),
      response: (body, _request, context) => ({
        answer: json.decode(FileSchema, objectOf(body, context)),
        usage: undefined,
        model: undefined,
      }),
    },
    addUploadPart: {
      request: ({ uploadId }) => at('POST', `/uploads/${pathSegment(uploadId)}/parts`, JSON_ANSWER),
      response: (body, _request, context) => ({
        answer: json.decode(UploadPartSchema, objectOf(body, context)),
        usage: undefined,
        model: undefined,
      }),
    },
    fileContent: {
      request: ({ fileId }) => at('GET', `/files/${pathSegment(fileId)}/content`, ANY_ANSWER),
      response: noMessage,
    },
    createContainerFile: {
      request({ containerId, fileId, extra }) {
        const path = `/containers/${pathSegment(containerId)}/files`;
        if (fileId === undefined) return at('POST', path, JSON_ANSWER);
        const body = JSON.stringify({ ...extra, file_id: fileId });
        return { method: 'POST', path, headers: ['content-type', 'application/json', ...JSON_ANSWER], body };
      },
      response: (body, _request, context) => ({
        answer: json.decode(ContainerFileSchema, objectOf(body, context)),
        usage: undefined,
        model: undefined,
      }),
    },
    containerFileContent: {
      request: ({ containerId, fileId }) =>
        at('GET', `/containers/${pathSegment(containerId)}/files/${pathSegment(fileId)}/content`, ANY_ANSWER),
      response: noMessage,
    },
    videoContent: {
      request({ videoId, variant }) {
        const query = variant === undefined ? '' : `?${new URLSearchParams({ variant })}`;
        return at('GET', `/videos/${pathSegment(videoId)}/content${query}`, ANY_ANSWER);
      },
      response: noMessage,
    },
  };
}

function noMessage(_body: Uint8Array, _request: object, { target }: TranslationContext): never {
  throw fail('upstream_garbage', 'bytes have no message', { provider: target.provider.id });
}

function at(method: Outbound['method'], path: string, headers: readonly string[]): Outbound {
  return { method, path, headers, body: undefined };
}

/** @throws GatewayError upstream_garbage */
function objectOf(body: Uint8Array, { target }: TranslationContext): Readonly<Record<string, unknown>> {
  const value = parseAnswer(body, target.provider.id);
  if (isObject(value)) return value;
  throw fail('upstream_garbage', 'the provider answered with JSON that is not an object', {
    provider: target.provider.id,
  });
}
