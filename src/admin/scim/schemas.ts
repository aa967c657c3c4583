// The schemas of users and groups (RFC 7643, parts 4 and 8.7).
import { type Attribute, attribute } from './attribute.ts';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE_SCHEMA = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

const reference = (name: string, description: string, ...referenceTypes: string[]) =>
  attribute(name, description, { type: 'reference', caseExact: true, referenceTypes });

/** A list of values with a type, a label and a primary one. */
function plural(
  name: string,
  description: string,
  canonicalValues: readonly string[],
  value = attribute('value', 'The value.'),
) {
  return attribute(name, description, {
    multiValued: true,
    subAttributes: [
      value,
      attribute('display', 'A name for people.'),
      attribute('type', 'What kind of value it is.', canonicalValues.length === 0 ? {} : { canonicalValues }),
      attribute('primary', 'Whether it is the preferred one; at most one is.', { type: 'boolean' }),
    ],
  });
}

const text = (name: string, description: string) => attribute(name, description);

const NAME = attribute('name', "The parts of the user's name.", {
  subAttributes: [
    text('formatted', 'The whole name.'),
    text('familyName', 'The family name.'),
    text('givenName', 'The given name.'),
    text('middleName', 'The middle names.'),
    text('honorificPrefix', 'A title before the name.'),
    text('honorificSuffix', 'A suffix after the name.'),
  ],
});

const ADDRESSES = attribute('addresses', 'Postal addresses.', {
  multiValued: true,
  subAttributes: [
    text('formatted', 'The whole address.'),
    text('streetAddress', 'Street and number.'),
    text('locality', 'The city.'),
    text('region', 'The state or region.'),
    text('postalCode', 'The postal code.'),
    text('country', 'The country, as a code of two letters.'),
    attribute('type', 'What kind of address it is.', { canonicalValues: ['work', 'home', 'other'] }),
    attribute('primary', 'Whether it is the preferred one; at most one is.', { type: 'boolean' }),
  ],
});

const GROUPS = attribute('groups', 'The groups of the user.', {
  multiValued: true,
  mutability: 'readOnly',
  subAttributes: [
    attribute('value', "The group's id.", { mutability: 'readOnly', caseExact: true }),
    { ...reference('$ref', "The group's address.", 'Group'), mutability: 'readOnly' },
    attribute('display', "The group's name.", { mutability: 'readOnly' }),
    attribute('type', 'Always direct.', { mutability: 'readOnly', canonicalValues: ['direct'] }),
  ],
});

/** Attributes of all resources. Schemas do not repeat them. */
export const COMMON: readonly Attribute[] = [
  attribute('schemas', 'The schemas of the resource.', {
    multiValued: true,
    caseExact: true,
    returned: 'always',
    mutability: 'readOnly',
  }),
  attribute('id', 'The id.', {
    caseExact: true,
    returned: 'always',
    mutability: 'readOnly',
    uniqueness: 'server',
  }),
  attribute('externalId', "The identity provider's id.", { caseExact: true }),
  attribute('meta', 'When it was made and changed.', {
    mutability: 'readOnly',
    subAttributes: [
      attribute('resourceType', 'User or Group.', { caseExact: true, mutability: 'readOnly' }),
      attribute('created', 'When it was made.', { type: 'dateTime', mutability: 'readOnly' }),
      attribute('lastModified', 'When it was last changed.', { type: 'dateTime', mutability: 'readOnly' }),
      attribute('location', 'Its address.', { type: 'reference', caseExact: true, mutability: 'readOnly' }),
      attribute('version', 'Its version, as in the header ETag.', {
        caseExact: true,
        mutability: 'readOnly',
      }),
    ],
  }),
];

const USER: readonly Attribute[] = [
  attribute('userName', 'The name that identifies the user to the identity provider; in any letter case.', {
    required: true,
    uniqueness: 'server',
  }),
  NAME,
  text('displayName', 'The name to show.'),
  text('nickName', 'A casual name.'),
  reference('profileUrl', "The address of the user's page.", 'external'),
  text('title', 'The job title.'),
  text('userType', 'The kind of user, e.g. Employee.'),
  text('preferredLanguage', 'Languages in the order of preference.'),
  text('locale', 'How dates and numbers are written.'),
  text('timezone', 'The time zone, e.g. Europe/Berlin.'),
  attribute('active', 'False: sessions and keys of the user end.', { type: 'boolean' }),
  plural('emails', 'Email addresses.', ['work', 'home', 'other']),
  plural('phoneNumbers', 'Phone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
  plural('ims', 'Addresses for messages.', []),
  plural(
    'photos',
    'Addresses of photos.',
    ['photo', 'thumbnail'],
    reference('value', 'The address.', 'external'),
  ),
  ADDRESSES,
  GROUPS,
  plural('entitlements', 'Entitlements; kept and not used.', []),
  plural('roles', 'Roles; kept and not used: groups give roles.', []),
  plural(
    'x509Certificates',
    'Certificates; kept and not used.',
    [],
    attribute('value', 'The certificate.', { type: 'binary', caseExact: true }),
  ),
];

const ENTERPRISE: readonly Attribute[] = [
  text('employeeNumber', 'The number of the employee.'),
  text('costCenter', 'The cost centre.'),
  text('organization', 'The organisation.'),
  text('division', 'The division.'),
  text('department', 'The department.'),
  attribute('manager', "The user's manager.", {
    subAttributes: [
      attribute('value', "The manager's id."),
      reference('$ref', "The manager's address.", 'User'),
      attribute('displayName', "The manager's name.", { mutability: 'readOnly' }),
    ],
  }),
];

const GROUP: readonly Attribute[] = [
  attribute('displayName', 'The name, unique in any letter case.', { required: true, uniqueness: 'server' }),
  attribute('members', 'The users of the group, at most 10,000.', {
    multiValued: true,
    subAttributes: [
      attribute('value', "The user's id.", { mutability: 'immutable', caseExact: true }),
      { ...reference('$ref', "The user's address.", 'User'), mutability: 'immutable' },
      attribute('type', 'Always User.', { mutability: 'immutable', canonicalValues: ['User'] }),
    ],
  }),
];

/** All attributes of a kind of resource: its extension is one of them, named by its URN. */
export interface ResourceKind {
  readonly name: 'User' | 'Group';
  readonly endpoint: '/Users' | '/Groups';
  readonly schema: string;
  readonly attributes: readonly Attribute[];
}

export const USERS: ResourceKind = {
  name: 'User',
  endpoint: '/Users',
  schema: USER_SCHEMA,
  attributes: [
    ...COMMON,
    ...USER,
    attribute(ENTERPRISE_SCHEMA, 'The enterprise extension.', { subAttributes: ENTERPRISE }),
  ],
};

export const GROUPS_KIND: ResourceKind = {
  name: 'Group',
  endpoint: '/Groups',
  schema: GROUP_SCHEMA,
  attributes: [...COMMON, ...GROUP],
};

/** What /Schemas shows. */
export const SCHEMAS = [
  { id: USER_SCHEMA, name: 'User', description: 'A person of the organisation.', attributes: USER },
  { id: GROUP_SCHEMA, name: 'Group', description: 'A group of users.', attributes: GROUP },
  {
    id: ENTERPRISE_SCHEMA,
    name: 'EnterpriseUser',
    description: "A user's place in an enterprise.",
    attributes: ENTERPRISE,
  },
] as const;
