// A user's document from SCIM's attributes, and back.
import type { ScimUser, UserBody } from '../../access/identity-collections.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { isObject } from './filter-match.ts';
import { ENTERPRISE_SCHEMA, USER_SCHEMA } from './schemas.ts';
import { wrong } from './scim-error.ts';

/** Of the attributes as JSON. */
const MOST_CHARS = 32_768;
/** Of a user name: it is indexed. */
const LONGEST_NAME = 500;

/** A line end in an address would be one in the head of a mail. */
const CONTROL = /\p{Cc}/u;

/** What the attributes make of a user. `active` stays as it was when it is not given. @throws ScimError invalidValue */
export function bodyOf(given: JsonObject, before: UserBody | undefined): UserBody {
  const { schemas: _s, userName, externalId, active, ...attributes } = given;
  if (typeof userName !== 'string' || userName.trim() === '')
    throw wrong('invalidValue', 'userName is required');
  if (userName.length > LONGEST_NAME)
    throw wrong('invalidValue', `userName has more than ${LONGEST_NAME} characters`);
  if (typeof externalId === 'string' && externalId.length > LONGEST_NAME)
    throw wrong('invalidValue', `externalId has more than ${LONGEST_NAME} characters`);
  if (JSON.stringify(attributes).length > MOST_CHARS)
    throw wrong('invalidValue', `the attributes of a user have at most ${MOST_CHARS} characters`);
  const email = (emailOf(attributes.emails) ?? userName).toLowerCase();
  if (email.length > LONGEST_NAME)
    throw wrong('invalidValue', `emails.value has more than ${LONGEST_NAME} characters`);
  if (CONTROL.test(userName) || CONTROL.test(email))
    throw wrong('invalidValue', 'userName and emails.value have no control characters');
  const name = isObject(attributes.name) ? attributes.name : {};
  const scim: ScimUser = {
    userName,
    userNameKey: userName.toLowerCase(),
    ...(typeof externalId === 'string' ? { externalId } : {}),
    ...(active === null || (active === undefined && before?.scim?.withoutActive)
      ? { withoutActive: true }
      : {}),
    attributes,
  };
  const { inactive, ...rest } = before ?? { role: 'member' as const };
  const isInactive = active === undefined || active === null ? inactive === true : active === false;
  return {
    ...rest,
    email,
    firstName: shortened(name.givenName),
    lastName: shortened(name.familyName),
    scim,
    ...(isInactive ? { inactive: true } : {}),
  };
}

/** The attributes that bodyOf was given; those of users who came by another way follow from their account. */
export function attributesOf({ body }: Document<UserBody>): JsonObject {
  const { scim, email, firstName, lastName, inactive } = body;
  const active = inactive !== true;
  if (scim !== undefined)
    return {
      userName: scim.userName,
      ...(scim.externalId === undefined ? {} : { externalId: scim.externalId }),
      ...(scim.withoutActive ? {} : { active }),
      ...scim.attributes,
    };
  const name = {
    ...(firstName === '' ? {} : { givenName: firstName }),
    ...(lastName === '' ? {} : { familyName: lastName }),
  };
  return {
    userName: email,
    active,
    ...(Object.keys(name).length === 0 ? {} : { name }),
    emails: [{ value: email, type: 'work', primary: true }],
  };
}

/** The schemas that a user has attributes of. */
export function schemasOf(attributes: JsonObject): string[] {
  return attributes[ENTERPRISE_SCHEMA] === undefined ? [USER_SCHEMA] : [USER_SCHEMA, ENTERPRISE_SCHEMA];
}

/** The primary address, or else the first one. */
function emailOf(emails: Json | undefined): string | undefined {
  const list = Array.isArray(emails) ? emails.filter(isObject) : [];
  const chosen =
    list.find(({ primary, value }) => primary === true && isText(value)) ??
    list.find(({ value }) => isText(value));
  return chosen === undefined ? undefined : String(chosen.value).trim();
}

function isText(value: Json | undefined): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function shortened(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, 100) : '';
}
