// All options that configs may name, of whichever provider: a name that is not among them is a typo.
import { AWS_IDENTITY, BEDROCK, SAGEMAKER } from '../options/aws.ts';
import { AZURE_AI, AZURE_IDENTITY, AZURE_TOKEN } from '../options/azure.ts';
import { COMMON_OPTIONS } from '../options/common.ts';
import { byNameAndAlias, comesFrom } from '../options/index-of.ts';
import { ORACLE } from '../options/oracle.ts';
import { OTHERS } from '../options/others.ts';
import type { OptionSpec } from '../options/spec.ts';
import { VERTEX } from '../options/vertex.ts';
import { providers } from './registry.ts';

const shared = [
  AWS_IDENTITY,
  BEDROCK,
  SAGEMAKER,
  AZURE_IDENTITY,
  AZURE_TOKEN,
  AZURE_AI,
  ORACLE,
  VERTEX,
  OTHERS,
];

/** Every option, of literals and of the sets that literals share; a name may come twice, with one effect. */
export const allOptions: readonly OptionSpec[] = Object.freeze([
  ...COMMON_OPTIONS,
  ...providers.flatMap(({ options = [] }) => options),
  ...shared.flat(),
]);

const inConfigs = byNameAndAlias(allOptions.filter((spec) => comesFrom(spec, 'config')));

/** Names and aliases of all options that configs may have. */
export function configOptionNames(): Iterable<string> {
  return inConfigs.keys();
}

/** The option, of any provider, that a member of a config names; undefined: none. */
export function configOption(name: string): OptionSpec | undefined {
  return inConfigs.get(name);
}
