// Operations whose forms go through the stages of a model call.

/** Operations that take a form with files. */
export type FormName = 'transcriptions' | 'translations' | 'imageEdits' | 'imageVariations' | 'createVideo';
