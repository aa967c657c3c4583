// A version's content as people compare it.
import type { JsonObject } from '@bufbuild/protobuf';

/** One member to a few lines; messages as they are and not as the text of a text. */
export function templateText(content: JsonObject | undefined): string {
  const { string = '', ...others } = content ?? {};
  return `${JSON.stringify({ string: messagesOf(String(string)), ...others }, null, 2)}\n`;
}

/** Messages that are written as text, one line to each line of theirs. */
export function spaced(text: string): string {
  const messages = messagesOf(text);
  return typeof messages === 'string' ? messages : JSON.stringify(messages, null, 2);
}

function messagesOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : text;
  } catch {
    return text;
  }
}
