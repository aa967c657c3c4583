// Examples on the bodies and on the successful answer of every operation.
import { Examples, type Side } from './examples.ts';
import type { Json, Schema } from './json.ts';

type Media = { readonly [type: string]: Json };

/** The paths with an `example` on each media type of requests and of 2xx answers. */
export function withExamples(paths: { [path: string]: Json }, components: Readonly<Record<string, Schema>>) {
  const examples = new Examples(components);
  const shown = (content: unknown, side: Side): Media =>
    Object.fromEntries(
      Object.entries(content as Media).map(([type, media]) => [
        type,
        { ...media, example: examples.of(media.schema as Schema, side) },
      ]),
    );
  const operation = (given: Json): Json => {
    const body = given.requestBody as Json | undefined;
    const responses = Object.entries(given.responses as { [status: string]: Json }).map(([status, answer]) =>
      /^2/.test(status) && answer.content !== undefined
        ? [status, { ...answer, content: shown(answer.content, 'answer') }]
        : [status, answer],
    );
    return {
      ...given,
      ...(body === undefined ? {} : { requestBody: { ...body, content: shown(body.content, 'request') } }),
      responses: Object.fromEntries(responses),
    };
  };
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]): [string, Json] => [
      path,
      Object.fromEntries(Object.entries(item).map(([verb, given]) => [verb, operation(given as Json)])),
    ]),
  );
}
