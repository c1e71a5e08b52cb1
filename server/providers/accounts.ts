/**
 * Finds the values of a field in bytes of JSON, wherever it is, without parsing them: texts and whole numbers, as `open`
 * names accounts. For `Notices.accounts`.
 */
export function valuesOf(field: string): (body: Uint8Array) => readonly string[] {
  const values = new RegExp(`"${field}"\\s*:\\s*(?:("(?:[^"\\\\]|\\\\.)*")|(-?\\d[\\d.eE+-]*))`, 'g')
  return (body) => {
    const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
    const found = new Set<string>()
    for (const [, quoted, number] of (text.includes('\\u') ? spelled(text) : text).matchAll(values))
      found.add(quoted === undefined ? wholeNumber(number as string) : unquoted(quoted))
    return [...found]
  }
}

/** Letters and digits that are written as escapes, so that fields are found however they are written. */
const spelled = (text: string) =>
  text.replace(/\\u00([0-9a-f]{2})/gi, (written, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16))
    return /\w/.test(character) ? character : written
  })

function unquoted(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return JSON.parse(literal) as string
  } catch {
    return literal
  }
}

/** Beyond 2^53 they are kept digit by digit (`OpenedBody.json`). */
const wholeNumber = (text: string) => (Number.isSafeInteger(Number(text)) ? String(Number(text)) : text)
