// One tag per service.
import type { DescService } from '@bufbuild/protobuf';
import { commentOf } from './comments.ts';
import type { Json } from './json.ts';

/** The service's name without "Service", its words apart. */
export function tagOf({ name }: DescService): string {
  return name.replace(/Service$/, '').replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ');
}

/** The tags of services, described by their comments. */
export function tagsOf(services: readonly DescService[]): Json[] {
  return services
    .map((service): Json => ({ name: tagOf(service), description: commentOf(service) }))
    .sort((a, b) => ((a.name as string) < (b.name as string) ? -1 : 1));
}
