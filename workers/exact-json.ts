import { jsonDepth, MAX_JSON_DEPTH } from '../server/http/json.ts'

/** A number as JSON writes it, or a string, so that digits within one are no number. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/** Fewer digits never exceed 2^53. */
const MANY_DIGITS = /\d{16}/

/**
 * Parses the JSON of a provider from its UTF-8 bytes. Integers that a double cannot hold (beyond 2^53: identifiers of 64
 * bits) become text, digit by digit.
 */
export function parseExactJson(bytes: Uint8Array): { readonly value: unknown } | 'not_json' | 'too_deep' {
  if (jsonDepth(bytes) > MAX_JSON_DEPTH) return 'too_deep'
  try {
    const text = new TextDecoder().decode(bytes)
    return { value: JSON.parse(MANY_DIGITS.test(text) ? text.replace(TOKENS, exact) : text) }
  } catch {
    return 'not_json'
  }
}

function exact(token: string): string {
  return /^-?[1-9]\d{15,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token
}
