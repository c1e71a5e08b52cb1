// Text of others, as it can be stored: PostgreSQL has neither NUL nor half of a surrogate pair, in text and in JSON.

/** A text with U+FFFD in place of what the database cannot hold. */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

/** NUL and lone surrogates as JSON.stringify writes them (ECMA-262, 25.5.2.3), not behind an escaped backslash. */
const NOT_STORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][\da-f]{2})/

/** Whether the database can hold JSON that JSON.stringify wrote. */
export const isStorableJson = (json: string): boolean => !NOT_STORABLE.test(json)
