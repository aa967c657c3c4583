// Blocks of a wire's own that come in pieces, put together for the way back.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ContentBlock } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { parsedObject } from '../../json-object.ts';

/** Members whose pieces are joined. */
const JOINED = ['text', 'thinking', 'signature', 'data'] as const;

/** The blocks that wait to be packed. */
export class Blocks {
  #waiting = new Map<number, JsonObject>();
  #next = 0;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** A block, or a piece of one; texts and calls are said by members of their own. */
  push(piece: ContentBlock): void {
    if (piece.type === 'text' || piece.type === 'tool_use') return;
    const { index, partial_json: json, ...extra } = piece.extra ?? {};
    const at = typeof index === 'number' ? index : this.#next;
    this.#next = Math.max(this.#next, at + 1);
    const block = this.#waiting.get(at) ?? { type: piece.type };
    this.#waiting.set(at, block);
    for (const name of JOINED) {
      const more = piece[name];
      if (more !== undefined) block[name] = `${typeof block[name] === 'string' ? block[name] : ''}${more}`;
    }
    Object.assign(block, extra);
    if (typeof json === 'string') block.partial_json = `${block.partial_json ?? ''}${json}`;
  }

  /** All that wait, which then do so no longer. */
  take(): JsonObject[] {
    const blocks = [...this.#waiting.values()].map(settled);
    this.#waiting = new Map();
    return blocks;
  }
}

/** The input of a provider's own call comes as pieces of JSON. */
function settled({ partial_json: json, ...block }: JsonObject): JsonObject {
  const input = typeof json === 'string' ? parsedObject(json) : undefined;
  return input === undefined ? block : { ...block, input };
}
