// default.alluppercase: nothing in the text is in lower case.
import { letterCaseCheck } from './contract/letter-case.ts';

export const allUppercase = letterCaseCheck(
  'default.alluppercase',
  'default.isAllUpperCase',
  'upper',
  'isUpperCase',
);
