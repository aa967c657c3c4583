// What a wire gives to be sent back with the conversation (thinking with its signature, redacted thinking, Google's
// thought signatures) travels in `encrypted_content` of a reasoning item: self-contained, so that a client that keeps
// its conversation itself, as coding agents do, sends it back whole.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';

const MARK = 'slc1.';

/** Dialects that give and take the same blocks with the same signatures: those of Claude. */
const CLAUDE: ReadonlySet<string> = new Set(['anthropic', 'bedrock', 'vertex']);

/** What one reasoning item carries. */
export interface Packed {
  /** The dialect that gave it. */
  readonly wire: string;
  readonly provider: string;
  /** The wire's own blocks, in order. */
  readonly blocks?: readonly JsonObject[];
  /** What was thought, of wires that have no blocks for it. */
  readonly reasoning?: string;
  /** The message's `reasoning_details`. */
  readonly details?: readonly JsonObject[];
  /** Google's `extra_content` of the message. */
  readonly message?: JsonObject;
  /** Google's `extra_content` of calls, by the calls' ids. */
  readonly calls?: Readonly<Record<string, JsonObject>>;
}

/** As text for `encrypted_content`. */
export function pack(packed: Packed): string {
  return MARK + Buffer.from(JSON.stringify(packed)).toString('base64url');
}

/** What was packed; undefined for texts that another service made. */
export function unpack(text: JsonValue | undefined): Packed | undefined {
  if (typeof text !== 'string' || !text.startsWith(MARK)) return undefined;
  const json = parsedObject(Buffer.from(text.slice(MARK.length), 'base64url').toString('utf8'));
  const [wire, provider] = [textOf(json?.wire), textOf(json?.provider)];
  if (json === undefined || wire === undefined || provider === undefined) return undefined;
  const [message, calls] = [objectOf(json.message), objectOf(json.calls)];
  return {
    wire,
    provider,
    ...(Array.isArray(json.blocks) ? { blocks: json.blocks.filter(isObject) } : {}),
    ...(Array.isArray(json.details) ? { details: json.details.filter(isObject) } : {}),
    ...(typeof json.reasoning === 'string' ? { reasoning: json.reasoning } : {}),
    ...(message === undefined ? {} : { message }),
    ...(calls === undefined
      ? {}
      : {
          calls: Object.fromEntries(
            Object.entries(calls).flatMap(([id, e]) => (isObject(e) ? [[id, e]] : [])),
          ),
        }),
  };
}

/** Whether a dialect takes back what another gave. */
export function takesBack(wire: string, packed: Packed): boolean {
  return wire === packed.wire || (CLAUDE.has(wire) && CLAUDE.has(packed.wire));
}
