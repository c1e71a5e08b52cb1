import { errors } from '../errors.ts'

/**
 * Accepts a read whose Accept header allows one of the available media types (RFC 9110, 12.5.1). JSON is always
 * accepted: where something else is served, as from `/metrics`, these requests get that. Parameters such as charset
 * count as met.
 * @throws AppError not_acceptable (406)
 */
export function requireAcceptable(accept: string, produced: readonly string[]): void {
  if (accept.trim() === '') return
  const offered = [...produced, 'application/json']
  const fits = accept.split(',').some((one) => {
    const [range = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase())
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    return !refused && offered.some((type) => matches(range, type))
  })
  if (!fits) throw errors.notAcceptable(produced)
}

const matches = (range: string, type: string) =>
  // Old Java clients send a bare *.
  range === type || range === '*/*' || range === '*' || range === `${type.split('/')[0]}/*`
