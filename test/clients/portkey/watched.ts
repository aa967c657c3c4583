// Which methods of the SDK a test has called, so that none is forgotten.
import type { ExecutionContext } from 'ava';
import type { Exchange } from './clients.ts';
import { broken } from './promised.ts';

/** Methods of every resource that are the SDK's machinery. */
const MACHINERY = new Set(['constructor', 'post', 'put', 'getMethod', 'deleteMethod']);

export class Watched {
  readonly #called = new Set<string>();
  readonly #exchanges: readonly Exchange[];

  constructor(exchanges: readonly Exchange[]) {
    this.#exchanges = exchanges;
  }

  /** Calls a method of a resource: the answer must be a JSON object with the status 200. */
  async call<T>(t: ExecutionContext, name: string, method: () => PromiseLike<T>): Promise<T> {
    this.#called.add(name);
    const before = this.#exchanges.length;
    const answer = await method();
    const exchange = this.#exchanges[before];
    t.is(exchange?.status, 200, name);
    t.regex(exchange?.contentType ?? '', /^application\/json/, name);
    t.is(typeof answer, 'object', name);
    t.is(this.#exchanges.length, before + 1, `${name}: one request`);
    return answer;
  }

  /** As call, for a method that answers with an empty object. */
  async done(t: ExecutionContext, name: string, method: () => PromiseLike<unknown>): Promise<void> {
    t.deepEqual(plain(await this.call(t, name, method)), {}, name);
  }

  /** The methods of a resource that were never called. */
  missed(name: string, resource: object): string[] {
    return Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
      .filter((method) => !MACHINERY.has(method))
      .map((method) => `${name}.${method}`)
      .filter((method) => !this.#called.has(method));
  }
}

/** An answer without the function that the SDK adds to it. */
export function plain(answer: unknown): Record<string, unknown> {
  const { getHeaders, ...rest } = answer as Record<string, unknown>;
  return rest;
}

/**
 * The answer is what the SDK's interface promises, but for members that are known to differ, which must differ.
 * @param type "file.Interface" of the SDK's declarations
 */
export function promised(
  t: ExecutionContext,
  type: `${string}.${string}`,
  answer: unknown,
  differing: readonly string[] = [],
): void {
  const [file, name] = type.split('.') as [string, string];
  const places = broken(file, name, answer);
  const known = (place: string): boolean => differing.some((member) => place.startsWith(`${member}:`));
  t.deepEqual(
    places.filter((place) => !known(place)),
    [],
    type,
  );
  for (const member of differing)
    t.true(
      places.some((place) => place.startsWith(`${member}:`)),
      `${type}.${member} does not differ any more`,
    );
}
