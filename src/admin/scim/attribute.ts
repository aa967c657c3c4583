// What an attribute of a schema is (RFC 7643, part 7).

export type AttributeType =
  | 'string'
  | 'boolean'
  | 'integer'
  | 'dateTime'
  | 'reference'
  | 'binary'
  | 'complex';

export interface Attribute {
  readonly name: string;
  readonly type: AttributeType;
  readonly multiValued: boolean;
  readonly description: string;
  readonly required: boolean;
  readonly caseExact: boolean;
  readonly mutability: 'readWrite' | 'readOnly' | 'immutable';
  readonly returned: 'always' | 'default';
  readonly uniqueness: 'none' | 'server';
  readonly canonicalValues?: readonly string[];
  readonly referenceTypes?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
}

/** An attribute with the defaults of RFC 7643, part 2.2. */
export function attribute(
  name: string,
  description: string,
  given: Partial<Omit<Attribute, 'name' | 'description'>> = {},
): Attribute {
  return {
    name,
    type: given.subAttributes === undefined ? 'string' : 'complex',
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...given,
  };
}

/** An attribute by name in any letter case. */
export function attributeNamed(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const wanted = name.toLowerCase();
  return attributes.find((one) => one.name.toLowerCase() === wanted);
}

/** The sub-attribute that a multi-valued attribute's values are compared by. */
export function valueAttribute({ subAttributes = [] }: Attribute): Attribute | undefined {
  return attributeNamed(subAttributes, 'value');
}
