// Text of others, as it can be stored: PostgreSQL has neither NUL nor half of a surrogate pair, in text and in JSON.

/** A text with U+FFFD in place of what the database cannot hold. */
export const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

/** NUL and lone surrogates as JSON.stringify writes them (ECMA-262, 25.5.2.3), not behind an escaped backslash. */
const NOT_STORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][\da-f]{2})/

/** Whether the database can hold JSON that JSON.stringify wrote. */
export const isStorableJson = (json: string): boolean => !NOT_STORABLE.test(json)

/** A run of marks longer than any writing has, before a further one; U+034F is what ends a run. */
const LONG_RUN = /(?:(?!\u034f)[\p{M}\uff9e\uff9f]){30}(?=(?!\u034f)[\p{M}\uff9e\uff9f])/gu

/**
 * A text in a normalisation form of Unicode, in time proportional to its length: sorting the marks behind a letter takes
 * the square of their number, so a run is ended after 30 of them (stream-safe text, https://unicode.org/reports/tr15/).
 */
export const normalised = (text: string, form: 'NFC' | 'NFKC'): string =>
  text.replaceAll(LONG_RUN, '$&\u034f').normalize(form)
