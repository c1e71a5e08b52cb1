// How folders read answers that are not stored, such as pages and accounts. A missing value is undefined.

/** What is at `path` of a parsed answer. */
export function valueAt(json: unknown, ...path: readonly string[]): unknown {
  let value = json
  for (const field of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return undefined
    value = (value as Record<string, unknown>)[field]
  }
  return value
}

/** The text at `path`, without the empty one. */
export function textAt(json: unknown, ...path: readonly string[]): string | undefined {
  const value = valueAt(json, ...path)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The elements of the list at `path`. */
export function listAt(json: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = valueAt(json, ...path)
  return Array.isArray(value) ? value : []
}

/** A header that is a whole number. */
export function numberIn(headers: Readonly<Record<string, string>>, name: string): number | undefined {
  const text = headers[name]?.trim() ?? ''
  return /^\d{1,12}$/.test(text) ? Number(text) : undefined
}
