// Whether a capability is offered: the integration's switch wins over the server's, and what has no switch is on.
import type { CapabilitySwitch, CapabilityType } from './mcp-collections.ts';

/** Switches of one integration or server, by type and name. */
export type SwitchMap = ReadonlyMap<string, CapabilitySwitch>;

const key = (type: CapabilityType, name: string): string => `${type} ${name}`;

export function switchMap(switches: readonly CapabilitySwitch[] = []): SwitchMap {
  return new Map(switches.map((one) => [key(one.type, one.name), one]));
}

export function switchOf(
  switches: SwitchMap,
  type: CapabilityType,
  name: string,
): CapabilitySwitch | undefined {
  return switches.get(key(type, name));
}

/** Whether no switch turns it off, under any of its names. @param names of a resource: its name and its URI */
export function isOn(switches: SwitchMap, type: CapabilityType, names: readonly string[]): boolean {
  return names.every((name) => switches.get(key(type, name))?.enabled !== false);
}
