// default.alllowercase: nothing in the text is in upper case.
import { letterCaseCheck } from './contract/letter-case.ts';

export const allLowercase = letterCaseCheck(
  'default.alllowercase',
  'default.isAllLowerCase',
  'lower',
  'isLowerCase',
);
