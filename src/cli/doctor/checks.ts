// The checks of `sluice doctor`, in their order.
import type { Check } from './check.ts';
import { clock } from './clock.ts';
import { disk } from './disk.ts';
import { egress } from './egress.ts';
import { parts } from './parts.ts';
import { providers } from './providers.ts';
import { segments } from './segments.ts';
import { stores } from './stores.ts';

export const CHECKS: readonly Check[] = [parts, stores, segments, disk, clock, egress, providers];
