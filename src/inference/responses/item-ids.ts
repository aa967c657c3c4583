// Ids of items. Those that the gateway makes tell the response that they belong to, and their place in it.
import type { JsonObject } from '@bufbuild/protobuf';

const OWN = /^[a-z]{2,4}_([0-9a-f]{32})([0-9a-f]{3})$/;
const RESPONSE = /^resp_([0-9a-f]{32})$/;
/** Places of input items begin here. */
const INPUT = 0x800;
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
};

/** Where an item of one of the gateway's responses stands; undefined for ids that others made. */
export function placeOfItem(id: string): { readonly response: string; readonly place: number } | undefined {
  const [, key, place] = OWN.exec(id) ?? [];
  return key === undefined ? undefined : { response: `resp_${key}`, place: Number.parseInt(place!, 16) };
}

/** The item at a place of a kept response. */
export function itemAt(
  { input, before, response }: { input: readonly JsonObject[]; before: number; response: JsonObject },
  place: number,
): JsonObject | undefined {
  if (place >= INPUT) return input[before + place - INPUT];
  return Array.isArray(response.output) ? (response.output[place] as JsonObject | undefined) : undefined;
}

/** A response's own input with ids where it has none. */
export function withIds(items: readonly JsonObject[], response: string): JsonObject[] {
  const key = RESPONSE.exec(response)?.[1] ?? response.replace(/^resp_/, '');
  return items.map((item, i) => {
    if (typeof item.id === 'string' && item.id !== '') return item;
    const type = typeof item.type === 'string' ? item.type : 'message';
    const place = (INPUT + i).toString(16).padStart(3, '0');
    return { ...item, type, id: `${PREFIXES[type] ?? 'item'}_${key}${place}` };
  });
}
