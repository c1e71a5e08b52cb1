import { hash } from 'node:crypto'
import type { Context } from 'koa'

/**
 * The ETag of an answer that depends on `parts`, such as the user's revision and every parameter: weak, since it does
 * not hash the bytes.
 */
export function etagOf(...parts: readonly (string | number)[]): string {
  return `W/"${hash('sha1', parts.join(' '), 'base64url').slice(0, 20)}"`
}

/** The ETags of answers that the client has. */
export const heldTags = (ctx: Context): string[] =>
  ctx
    .get('if-none-match')
    .split(',')
    .map((tag) => tag.trim())
