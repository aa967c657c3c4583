// Converse's blocks of an answer in the gateway's words, whole and in pieces.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ContentBlock } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { ContentBlockSchema } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { MessageJson } from '../../dialect.ts';
import { objectOf, textOf } from '../../json-object.ts';

/** Tools that Bedrock runs itself: their calls are no calls of the caller's tools. */
export function isServerTool(toolUse: JsonObject): boolean {
  return toolUse.type === 'server_tool_use';
}

/** A block of the provider's own. */
export function ownBlock(json: MessageJson, block: JsonObject): ContentBlock {
  return json.decode(ContentBlockSchema, block);
}

/** The call of a tool that Bedrock runs. */
export function serverToolUse({ toolUseId: id = '', name = '', input = {} }: JsonObject): JsonObject {
  return { type: 'server_tool_use', id, name, input };
}

/** What came of such a call. */
export function serverToolResult({ toolUseId: id = '', content, status, type }: JsonObject): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content === undefined ? {} : { content }),
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { result_type: type }),
  };
}

/** An image as `images`, the form that OpenAI-compatible services use. */
export function imagesOf(image: JsonObject): JsonObject[] {
  const data = textOf(objectOf(image.source)?.bytes);
  if (data === undefined) return [];
  return [
    { type: 'image_url', image_url: { url: `data:image/${textOf(image.format) ?? 'png'};base64,${data}` } },
  ];
}

/** OpenAI's annotation of a citation that has an address; undefined for one of a document. */
export function annotation(citation: JsonObject, start: number, end: number): JsonObject | undefined {
  const web = objectOf(objectOf(citation.location)?.web);
  const url = textOf(web?.url);
  if (url === undefined) return undefined;
  const title = textOf(citation.title) ?? textOf(web?.domain) ?? '';
  return { type: 'url_citation', url_citation: { url, title, start_index: start, end_index: end } };
}
