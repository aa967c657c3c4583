// What messages are for: a request's members and an answer's members are held to
// different promises.
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { formOf } from '../rest/form-shape.ts';
import { takesWorkspace } from '../rest/named-workspace.ts';
import type { Route } from '../rest/routes.ts';
import { alwaysWritten, mustBeGiven, reach } from './required.ts';

/** How a set of routes uses its messages. */
export class Roles {
  readonly #inputs: ReadonlySet<DescMessage>;
  readonly #carried: ReadonlySet<DescMessage>;
  readonly #ofWorkspace: ReadonlySet<DescMessage>;
  readonly #paths = new Map<DescMessage, Set<string>>();

  constructor(routes: readonly Route[]) {
    this.#inputs = reach(routes.map((route) => route.method.input));
    this.#ofWorkspace = new Set(
      routes
        .filter(({ method, hasBody }) => hasBody && takesWorkspace(method))
        .map(({ method }) => method.input),
    );
    // Answers of the data plane may be the provider's own bytes: the document makes no promise about them.
    const data = routes.filter((route) => route.plane === Plane.DATA);
    this.#carried = reach(
      data.flatMap((route) => [route.method, route.streamMethod ?? route.method].map((m) => m.output)),
    );
    for (const { method, template } of routes) {
      const input = formOf(method)?.head ?? method.input;
      const known = this.#paths.get(input);
      // A member is left out of the body only where every path carries it.
      const here = template.fields.filter((field) => known?.has(field) ?? true);
      this.#paths.set(input, new Set(here));
    }
  }

  /** Whether callers send the message, or a message that holds it. */
  isInput(desc: DescMessage): boolean {
    return this.#inputs.has(desc);
  }

  /** Whether callers may name a workspace in addition to the message's own members. */
  takesWorkspace(desc: DescMessage): boolean {
    return this.#ofWorkspace.has(desc);
  }

  /** Whether the path carries the field. */
  inPath(field: DescField): boolean {
    return this.#paths.get(field.parent)?.has(field.name) ?? false;
  }

  /** Whether the member is there in every valid request, or in every answer. */
  required(field: DescField): boolean {
    if (this.isInput(field.parent)) return mustBeGiven(field);
    return !this.#carried.has(field.parent) && alwaysWritten(field);
  }
}
