// A message's content as blocks (Anthropic API reference, Messages, `content`).
import type { JsonObject } from '@bufbuild/protobuf';
import type { Content, ContentPart, ImageUrl } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { given, objectOf } from '../../json-object.ts';
import { fileBlock } from './files.ts';

/** Blocks of Anthropic's own, carried as they are. */
const NATIVE: ReadonlySet<string> = new Set([
  'image',
  'document',
  'search_result',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'container_upload',
  'mcp_tool_use',
  'mcp_tool_result',
]);

/**
 * The content's blocks; texts that are empty are left out, for Anthropic refuses them.
 * @param path of the content, e.g. "messages[0].content", for errors.
 * @throws GatewayError `validation_failed` naming the part that cannot be expressed.
 */
export function contentBlocks(content: Content | undefined, path: string): JsonObject[] {
  const kind = content?.kind;
  if (kind?.case === 'text') return kind.value === '' ? [] : [{ type: 'text', text: kind.value }];
  if (kind?.case !== 'parts') return [];
  return kind.value.values.flatMap((part, i) => partBlocks(part, `${path}[${i}]`));
}

function partBlocks(part: ContentPart, path: string): JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text ? [{ type: 'text', text: part.text, ...given(part.extra) }] : [];
    case 'image_url':
      return [{ ...imageBlock(part.imageUrl, `${path}.image_url`), ...given(part.extra) }];
    case 'file': {
      const { file, ...own } = part.extra ?? {};
      return [{ ...fileBlock(objectOf(file) ?? {}, path), ...given(own) }];
    }
    case 'refusal':
      return typeof part.extra?.refusal === 'string' ? [{ type: 'text', text: part.extra.refusal }] : [];
    default:
      if (NATIVE.has(part.type)) return [nativeBlock(part)];
      throw invalidField(`${path}.type`, `"${part.type.slice(0, 64)}" is not supported by this provider`);
  }
}

function nativeBlock({ type, text, extra }: ContentPart): JsonObject {
  return { type, ...(text === undefined ? {} : { text }), ...given(extra) };
}

function imageBlock(image: ImageUrl | undefined, path: string): JsonObject {
  const url = image?.url ?? '';
  if (/^https?:\/\//i.test(url)) return { type: 'image', source: { type: 'url', url } };
  const comma = url.indexOf(',');
  const head = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*;base64$/i.exec(url.slice(0, Math.min(comma, 256)));
  if (comma === -1 || head === null) {
    throw invalidField(`${path}.url`, 'must be an http(s) address or data:<type>;base64,<bytes>');
  }
  const mediaType = (head[1] as string).toLowerCase();
  return {
    type: mediaType === 'application/pdf' ? 'document' : 'image',
    source: { type: 'base64', media_type: mediaType, data: url.slice(comma + 1) },
  };
}
