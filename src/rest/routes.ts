// Routes read off the contract: every google.api.http rule of every service.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { hasOption } from '@bufbuild/protobuf';
import {
  type Access,
  type Audit,
  access,
  audit,
  Form,
  form,
  Plane,
  plane,
  stream_method,
} from '../../gen/gateway/options/v2/options_pb.ts';
import { http } from '../../gen/google/api/annotations_pb.ts';
import type { HttpRule } from '../../gen/google/api/http_pb.ts';
import { optionOf } from '../lib/contract-options.ts';
import { formOf } from './form-shape.ts';
import { type PathTemplate, parsePathTemplate } from './path-template.ts';

/** One verb and path of an operation. */
export interface Route {
  readonly verb: string;
  readonly template: PathTemplate;
  readonly method: DescMethod;
  /** The server-streaming twin that `"stream": true` selects. */
  readonly streamMethod: DescMethod | undefined;
  /** Whether the body carries the message; else the query does. */
  readonly hasBody: boolean;
  readonly plane: Plane;
}

/** Which route a request is for, with the raw values of the path's fields. */
export interface RouteMatch {
  readonly route: Route;
  readonly values: Map<string, string>;
}

/** All routes of a set of services. */
export interface RouteTable {
  readonly routes: readonly Route[];
  /** The route of a verb and a path (after the base, without query). */
  match(verb: string, path: string): RouteMatch | undefined;
  /** The verbs that are declared on a path, and whether one of them is of the control plane. */
  declared(path: string): { readonly verbs: readonly string[]; readonly control: boolean };
}

/** Builds the table. @throws Error when two operations claim the same verb and path, or a rule cannot be read. */
export function createRouteTable(services: readonly DescService[]): RouteTable {
  const routes = services.flatMap((service) =>
    service.methods.flatMap((method) => routesOf(service, method)),
  );
  refuseDuplicates(routes);
  const ordered = routes.toSorted((a, b) => bySpecificity(a.template, b.template));
  const variable = ordered.filter(({ template }) => !template.literal);
  const literal = new Map(
    ordered
      .filter(({ template }) => template.literal)
      .map((route) => [`${route.verb} ${route.template.text}`, route]),
  );
  const noValues = new Map<string, string>();

  const match = (verb: string, path: string): RouteMatch | undefined => {
    const exact = literal.get(`${verb} ${path}`);
    if (exact) return { route: exact, values: noValues };
    const segments = segmentsOf(path);
    // With an escape or a slash at the end a literal template may match, too.
    for (const route of path.includes('%') || path.endsWith('/') ? ordered : variable) {
      if (route.verb !== verb) continue;
      const values = route.template.match(segments);
      if (values) return { route, values };
    }
    return undefined;
  };

  return {
    routes,
    match,
    declared(path) {
      const segments = segmentsOf(path);
      const found = routes.filter((route) => route.template.match(segments) !== undefined);
      return {
        verbs: [...new Set(found.map((route) => route.verb))],
        control: found.some((route) => route.plane === Plane.CONTROL),
      };
    },
  };
}

/** What the contract says of every method. */
export interface Annotations {
  readonly plane: Plane;
  readonly access: Access;
  readonly audit: Audit;
  /** The published form of its errors and events. */
  readonly form: Form;
}

// Reading an option builds and decodes an extension each time: half of the time of a whole call when it was done per call.
const annotations = new WeakMap<DescMethod, Annotations>();

/** The plane, access and audit annotations of a method. @throws Error when one is missing: such a method must not be served. */
export function annotationsOf(method: DescMethod): Annotations {
  const known = annotations.get(method);
  if (known) return known;
  const read = readAnnotations(method);
  annotations.set(method, read);
  return read;
}

function readAnnotations(method: DescMethod): Annotations {
  const name = `${method.parent.typeName}/${method.name}`;
  if (!hasOption(method.parent, plane)) throw new Error(`${method.parent.typeName} has no plane annotation`);
  if (!hasOption(method, access)) throw new Error(`${name} has no access annotation`);
  if (!hasOption(method, audit)) throw new Error(`${name} has no audit annotation`);
  return {
    plane: optionOf(method.parent, plane),
    access: optionOf(method, access),
    audit: optionOf(method, audit),
    form: hasOption(method, form) ? optionOf(method, form) : Form.UNSPECIFIED,
  };
}

/** The streaming twin that a unary method names. @throws Error when there is no such method. */
export function streamTwinOf(method: DescMethod): DescMethod | undefined {
  const name = optionOf(method, stream_method);
  if (!name) return undefined;
  const twin = method.parent.methods.find((candidate) => candidate.name === name);
  const kind = method.methodKind === 'client_streaming' ? 'bidi_streaming' : 'server_streaming';
  if (twin?.methodKind !== kind) throw new Error(`${method.name}: no streaming method ${name}`);
  return twin;
}

function routesOf(service: DescService, method: DescMethod): Route[] {
  if (!hasOption(method, http)) return [];
  const rule = optionOf(method, http);
  return [rule, ...rule.additionalBindings].map((binding) => routeOf(service, method, binding));
}

function routeOf(service: DescService, method: DescMethod, rule: HttpRule): Route {
  const { case: pattern, value } = rule.pattern;
  if (pattern === undefined || pattern === 'custom')
    throw new Error(`${method.name}: a custom verb is not routed`);
  if (rule.body !== '' && rule.body !== '*') throw new Error(`${method.name}: body must be "*" or absent`);
  const template = parsePathTemplate(value);
  return {
    verb: pattern.toUpperCase(),
    template,
    method,
    streamMethod: streamTwinOf(method),
    hasBody: rule.body === '*',
    plane: optionOf(service, plane),
  };
}

/** @throws Error when a path has a field that its operation's message has not. Not asked at a start: it builds all messages. */
export function refuseUnknownFields({ routes }: RouteTable): void {
  for (const { method, template } of routes) {
    const { fields } = formOf(method)?.head ?? method.input;
    for (const field of template.fields)
      if (!fields.some(({ name }) => name === field)) throw new Error(`${method.name}: no field ${field}`);
  }
}

function refuseDuplicates(routes: readonly Route[]): void {
  const seen = new Map<string, Route>();
  for (const route of routes) {
    const key = `${route.verb} ${route.template.shape}`;
    const other = seen.get(key);
    if (other) throw new Error(`${key} is claimed by both ${other.method.name} and ${route.method.name}`);
    seen.set(key, route);
  }
}

/** At the first segment that differs, a literal comes before a variable, and one segment before the rest of a path. */
function bySpecificity(a: PathTemplate, b: PathTemplate): number {
  const [left, right] = [a, b].map(({ shape }) => shape.split('/'));
  for (const [i, segment] of left!.entries()) {
    const difference = rank(segment) - rank(right![i]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function rank(segment: string | undefined): number {
  if (segment === undefined) return 3;
  return segment === '**' ? 2 : segment === '*' ? 1 : 0;
}

function segmentsOf(path: string): string[] {
  const segments = path.slice(1).split('/');
  if (segments.length > 1 && segments.at(-1) === '') segments.pop();
  return segments;
}
