/** Characters that one check looks at. */
export const MOST_CHARACTERS = 2_097_152;
