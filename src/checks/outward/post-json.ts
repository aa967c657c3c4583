// Sends JSON to an address that a parameter names, by the dialer and its rules, and reads JSON back.
import { GatewayError } from '../../lib/errors.ts';
import { type CheckDeps, CheckFailure } from '../contract/check.ts';

/** Bytes of an answer that are read. */
const MOST_BYTES = 4_194_304;

/** Where to, with what headers, what. */
export interface Posting {
  readonly url: string;
  /** The parameter that names the address. */
  readonly param: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The same with a text of another type. */
export interface TextPosting extends Omit<Posting, 'body'> {
  readonly contentType: string;
  readonly text: string;
}

/** What came back. */
export interface Posted {
  readonly status: number;
  /** The body as JSON; undefined when it is none, or nested too deep. */
  readonly json: unknown;
}

/** @throws CheckFailure CallFailedError with the dialer's words; the signal's reason when it ends */
export async function postJson(deps: CheckDeps, { body, ...posting }: Posting): Promise<Posted> {
  return postText(deps, { ...posting, contentType: 'application/json', text: written(body) });
}

/** JSON may be nested deeper than can be written: it was read in another way. */
function written(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch {
    throw new CheckFailure('UnreadableInputError', 'the call is nested too deep to be told');
  }
}

/** @throws as postJson */
export async function postText({ dialer, signal }: CheckDeps, posting: TextPosting): Promise<Posted> {
  const { url, param, contentType, text } = posting;
  const pairs = ['content-type', contentType, 'accept', 'application/json'];
  for (const [name, value] of Object.entries(posting.headers)) pairs.push(name.toLowerCase(), value);
  try {
    dialer.check(url, param);
    const { origin, pathname, search } = new URL(url);
    const request = { origin, path: pathname + search, method: 'POST', headers: pairs, body: text, signal };
    const answer = await dialer.whole(request, MOST_BYTES);
    return { status: answer.status, json: parse(answer.body) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new CheckFailure(
      'CallFailedError',
      error instanceof GatewayError ? error.message : 'the call failed',
    );
  }
}

function parse(body: Uint8Array): unknown {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(body));
    return isShallow(json, MOST_LEVELS) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Levels of an answer's JSON: parts of it stand in results, which must be written. */
const MOST_LEVELS = 64;

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1));
}
