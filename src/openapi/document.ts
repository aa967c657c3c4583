// The OpenAPI document of a set of services.
import type { DescService } from '@bufbuild/protobuf';
import { providers } from '../providers/catalog/registry.ts';
import { createRouteTable, refuseUnknownFields } from '../rest/routes.ts';
import { errorResponses, errorSchemas } from './errors.ts';
import { type Json, sorted } from './json.ts';
import { withExamples } from './operation-examples.ts';
import { headerParameters, securitySchemes } from './parameters.ts';
import { passThroughPath } from './pass-through.ts';
import { pathsOf } from './paths.ts';
import { providerList } from './providers.ts';
import { Roles } from './roles.ts';
import { Schemas } from './schemas.ts';
import { tagsOf } from './tags.ts';

const PROXY = 'gateway.inference.v2.ProxyService';

const DESCRIPTION = `One port for model providers: unified operations, and their administration.

The same surface is served under \`/v1\` and \`/v2\`, and over gRPC, gRPC-Web and Connect on the same port; \`x-sluice-rpc\` names each operation there, and the headers below are metadata of the same names.

**Authentication.** \`x-gateway-api-key\`; when it is absent, \`Authorization: Bearer\` with a key of the gateway. Where the organisation takes them, tokens (JWT) of its issuer stand in the place of keys. Model calls also select a provider: by \`x-gateway-provider\` with the provider's own credential in \`Authorization\`, by a stored provider (\`@<slug>\`), by a config, or by a custom host. \`x-sluice-access\` names the scopes, one of which the key must hold, and the kinds of keys that may call.

**Pass-through.** POST, GET, PUT and DELETE of any path that is not declared here are forwarded to the selected provider with their bytes unchanged, and so are its answers; \`/proxy/<path>\` does the same for any path, also for one that a declared operation shadows. On paths of the control plane an undeclared verb is answered with 405 and never forwarded.

**Members.** Members of model calls that a schema does not name are carried to providers of the same dialect and back. In requests \`null\` is the same as absent.

**Errors.** Every error carries an \`error\` object as OpenAI's SDKs read it, within the shape of its plane. An error inside a stream is an event; a stream never ends silently.`;

/** The document as a JSON value. @throws Error when routes collide or lack annotations. */
export function documentOf(services: readonly DescService[]): Json {
  const table = createRouteTable(services);
  refuseUnknownFields(table);
  const { routes } = table;
  const schemas = new Schemas(new Roles(routes));
  const paths = pathsOf(routes, schemas);
  const forward = services.find((service) => service.typeName === PROXY)?.method.forward;
  if (forward) paths['/proxy/{path}'] = passThroughPath(forward);
  const components = { ...schemas.components, ...errorSchemas() };
  const used = services.filter(
    (s) => s.typeName === PROXY || routes.some((route) => route.method.parent === s),
  );
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sluice',
      version: '2.0.0',
      summary: 'An AI gateway and its control plane.',
      description: DESCRIPTION,
      contact: { name: 'Sluice' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/v1', description: 'The base path that SDKs expect.' },
      { url: '/v2', description: 'The same, by the interface version.' },
    ],
    tags: tagsOf(used),
    'x-sluice-providers': providerList(providers),
    paths: sorted(Object.entries(withExamples(paths, components))),
    components: {
      schemas: sorted(Object.entries(components)),
      responses: errorResponses(paths),
      parameters: headerParameters(),
      headers: {
        Provider: { description: 'The provider that answered.', schema: { type: 'string' } },
        RequestId: { description: "The request's id, unique.", schema: { type: 'string' } },
        TraceId: { description: "The caller's trace id, or the one made.", schema: { type: 'string' } },
      },
      securitySchemes: securitySchemes(),
    },
  };
}
