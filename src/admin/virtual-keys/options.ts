// The reader of options in virtual keys: top-level members, in snake or camel case, that are the options of
// integrations.
import type { DescField } from '@bufbuild/protobuf';
import {
  type CreateVirtualKeyRequest,
  CreateVirtualKeyRequestSchema,
  type UpdateVirtualKeyRequest,
  type VirtualKeyDeployment,
} from '../../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import { allOptions } from '../../providers/catalog/known-options.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';

type Request = CreateVirtualKeyRequest | UpdateVirtualKeyRequest;

/** An option that virtual keys have a member for. */
interface Member {
  readonly option: string;
  readonly name: string;
  /** The message's fields, the one in camel case last. */
  readonly fields: readonly DescField[];
}

const MEMBERS: ReadonlyMap<string, Member> = new Map(
  allOptions.flatMap(({ name: option, virtualKey }) => {
    const name = virtualKey?.member ?? option;
    const fields = CreateVirtualKeyRequestSchema.fields.filter(
      (field) => field.name === name || field.name === `${name}_camel`,
    );
    return fields.length === 0 ? [] : [[option, { option, name, fields }] as const];
  }),
);

/** The member of an option, for refusals. */
export function memberOf(option: string): string {
  return MEMBERS.get(option)?.name ?? option;
}

/** Both spellings of the members that an update may remove. */
export const OPTION_MEMBERS: readonly string[] = [...MEMBERS.values()].flatMap(({ name }) => [
  name,
  camel(name),
]);

/** The options that a new one starts with: how calls authenticate, which an integration has to state itself. */
export function defaultOptions(entry: ProviderEntry): JsonObject {
  const presets = [...optionsOf(entry).stored.values()].flatMap(({ name, virtualKey }) =>
    virtualKey?.preset === undefined ? [] : [[name, virtualKey.preset] as const],
  );
  return Object.fromEntries(presets);
}

/** The options that are given; null for those to be taken away. @throws GatewayError validation_failed. */
export function givenOptions(request: Request, cleared: readonly string[] = []): JsonObject {
  const given: Record<string, Json> = {};
  for (const { option, name, fields } of MEMBERS.values()) {
    const values = fields.map((field) => (request as unknown as Record<string, unknown>)[field.localName]);
    const value = fields[0]?.fieldKind === 'list' ? deployments(request, values.flat()) : firstOf(values);
    if (value !== undefined) given[option] = value as Json;
    else if (cleared.includes(name) || cleared.includes(camel(name))) given[option] = null;
  }
  return given;
}

function firstOf(values: readonly unknown[]): unknown {
  return values.find((value) => value !== undefined);
}

/** Those that are given, or the only one, of a name and a version. */
function deployments(request: Request, given: readonly unknown[]): JsonObject[] | undefined {
  if (given.length > 0) return (given as VirtualKeyDeployment[]).map(deploymentJson);
  const version = request.apiVersion ?? request.apiVersionCamel;
  const name = request.deploymentName ?? request.deploymentNameCamel;
  return name !== undefined && version !== undefined ? [onlyDeployment(name, version)] : undefined;
}

function onlyDeployment(name: string, version: string): JsonObject {
  return {
    azure_api_version: version,
    azure_deployment_name: name,
    azure_model_slug: name,
    is_default: true,
  };
}

function deploymentJson(one: VirtualKeyDeployment, i: number): JsonObject {
  const name = one.deploymentName ?? one.deploymentNameCamel;
  const version = one.apiVersion ?? one.apiVersionCamel;
  if (!name) throw invalidField(`deployment_config[${i}].deployment_name`, 'is required', 'required');
  if (!version) throw invalidField(`deployment_config[${i}].api_version`, 'is required', 'required');
  return defined<JsonObject>({
    azure_api_version: version,
    azure_deployment_name: name,
    azure_model_slug: one.modelSlug ?? one.alias ?? name,
    alias: one.alias,
    is_default: one.isDefault,
  });
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
