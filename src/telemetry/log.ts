// The log: JSON lines without secrets. What has a secret's name is masked whole, what looks like one is masked where
// it stands, and of errors only what a reader needs is written: libraries hang requests and headers on theirs.
import { type DestinationStream, type Logger, pino } from 'pino';
import { isSecretName, MASKED, maskText } from '../access/audit/secrets.ts';
import { withoutWords } from '../lib/error-words.ts';
import { GatewayError } from '../lib/errors.ts';

/** How deep a value, or a chain of causes, is written. */
const DEPTH = 6;
/** Longest text, in UTF-16 units. */
const MOST_LETTERS = 8192;
const MOST_ITEMS = 100;
/** Members of errors that say what happened. */
const FACTS = ['code', 'codeName', 'reason', 'status', 'statusCode', 'errno', 'syscall'] as const;

/** @param level the least grave that is written @param to standard output when absent */
export function createLog(level: string, to?: DestinationStream): Logger {
  const options = {
    level,
    // The library's own would read what is made here as an error again.
    serializers: { err: (error: unknown) => error },
    formatters: { log: (line: object) => shown(line, 0) as Record<string, unknown> },
    hooks: {
      logMethod(this: Logger, args: unknown[], method: (...args: unknown[]) => void) {
        method.apply(
          this,
          args.map((arg) => (typeof arg === 'string' ? textOf(arg) : arg)),
        );
      },
    },
  };
  return pino(options as never, to ?? standardOutput());
}

/** Lines that a full disk does not take are kept up to this size, and the others are lost: the gateway serves on. */
const WAITING_BYTES = 1024 * 1024;

function standardOutput(): DestinationStream {
  const stream = pino.destination({ fd: 1, sync: true, maxLength: WAITING_BYTES });
  stream.on('error', () => undefined);
  return stream;
}

function shown(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return textOf(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH) return '[deep]';
  if (value instanceof Error) return errorOf(value, depth);
  if (value instanceof Date) return value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => shown(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isSecretName(name) ? MASKED : shown(item, depth + 1)]),
  );
}

function errorOf(error: Error, depth: number): object {
  const facts: Record<string, unknown> = {};
  for (const name of FACTS) {
    const value = (error as unknown as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) facts[name] = shown(value, DEPTH);
  }
  const { cause } = error;
  const errors = error instanceof AggregateError ? error.errors : undefined;
  // A provider's message may quote the request.
  const quotes = error instanceof GatewayError && error.details.provider !== undefined;
  const message = quotes ? withoutWords(error) : error.message;
  const stack = quotes ? error.stack?.replace(error.message, () => message) : error.stack;
  return {
    type: error.name,
    message: textOf(message),
    stack: textOf(stack ?? ''),
    ...facts,
    ...(errors === undefined ? {} : { errors: shown(errors, depth + 1) }),
    ...(cause === undefined ? {} : { cause: shown(cause, depth + 1) }),
  };
}

function textOf(text: string): string {
  return maskText(text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text);
}
