// Which attribute a name means: `userName`, `name.familyName`, or either below the URN of a schema.
import { type Attribute, attributeNamed } from './attribute.ts';

export interface AttributePath {
  readonly attribute: Attribute;
  /** Of a complex attribute. */
  readonly sub?: Attribute;
  /** Of a sub-attribute that is complex itself: an extension's. */
  readonly leaf?: Attribute;
}

const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group)(?::|$)/i;

/** Undefined when there is no such attribute. */
export function pathOf(text: string, attributes: readonly Attribute[]): AttributePath | undefined {
  const plain = text.replace(CORE, '');
  const extension = attributes.find(
    ({ name }) => name.includes(':') && plain.toLowerCase().startsWith(name.toLowerCase()),
  );
  if (extension === undefined) return within(plain.split('.'), attributes);
  const rest = plain.slice(extension.name.length);
  if (rest === '') return { attribute: extension };
  if (!rest.startsWith(':') && !rest.startsWith('.')) return undefined;
  const inner = within(rest.slice(1).split('.'), extension.subAttributes ?? []);
  return (
    inner && {
      attribute: extension,
      sub: inner.attribute,
      ...(inner.sub === undefined ? {} : { leaf: inner.sub }),
    }
  );
}

function within(names: readonly string[], attributes: readonly Attribute[]): AttributePath | undefined {
  const [first = '', second, ...more] = names;
  const attribute = attributeNamed(attributes, first);
  if (attribute === undefined || more.length > 0) return undefined;
  if (second === undefined) return { attribute };
  const sub = attributeNamed(attribute.subAttributes ?? [], second);
  return sub && { attribute, sub };
}
