import { counted } from '../counted.ts'
import { type AppError, HIDDEN, type Issue, shortened } from '../errors.ts'

/** Failures that one answer lists; the others are counted. */
const MAX_ISSUES = 50
/** Bytes of the list; an answer to a bad request stays below 64 KiB. */
const MAX_LIST_BYTES = 56 * 1024
const MAX_TEXT = 2_000
/** Enough for all values of the longest enumeration. */
const MAX_MESSAGE = 8_000
/** Longer messages are written only once in an answer. */
const LONG_MESSAGE = 500
const MAX_NAME = 100

/** What an answer shows of an input that is a list or an object. */
const MAX_ENTRIES = 5
const MAX_DEPTH = 2
const MAX_NESTED_TEXT = 50

/** Names of fields whose value is never repeated, even if no schema knows the field. */
const SECRET_NAME = /passw|passphrase|secret|token|credential|api.?key|^key$|authorization/i

/**
 * The body of an error: `detail`, and `hint` if there is one. It is smaller than 64 KiB whatever the client sent, and
 * repeats neither a credential nor the value of a field with a secret's name.
 */
export function errorBody({ detail, hint }: AppError): string {
  return JSON.stringify({ detail: typeof detail === 'string' ? shortened(detail, MAX_TEXT) : listed(detail), hint })
}

function listed(issues: readonly Issue[]): Issue[] {
  const list: Issue[] = []
  const messages = new Set<string>()
  let bytes = 0
  for (const issue of issues.slice(0, MAX_ISSUES)) {
    const short = shortIssue(issue, messages)
    bytes += Buffer.byteLength(JSON.stringify(short))
    if (bytes > MAX_LIST_BYTES) break
    list.push(short)
  }
  const unlisted = issues.length - list.length
  if (unlisted > 0) {
    const msg = `Not listed: ${counted(unlisted, 'more failure')}`
    list.push({ type: 'too_many_errors', loc: [], msg, input: null, ctx: { unlisted } })
  }
  return list
}

function shortIssue({ type, loc, msg, input, ctx }: Issue, messages: Set<string>): Issue {
  const again = msg.length > LONG_MESSAGE && messages.has(msg)
  messages.add(msg)
  const hides = loc.some((part) => SECRET_NAME.test(String(part)))
  return {
    type,
    loc: loc.map((part) => (typeof part === 'string' ? shortened(part, MAX_NAME) : part)),
    msg: again ? `${msg.slice(0, MAX_NAME)}… (as above)` : shortened(msg, MAX_MESSAGE),
    input: hides && input !== null ? HIDDEN : echo(input),
    ...(ctx && !again && { ctx }),
  }
}

/** What an answer repeats of an input, however large or deep the input is. */
function echo(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortened(value, depth === 0 ? undefined : MAX_NESTED_TEXT)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    if (depth === MAX_DEPTH) return value.length === 0 ? [] : ['…']
    const few = value.slice(0, MAX_ENTRIES).map((item) => echo(item, depth + 1))
    return value.length > MAX_ENTRIES ? [...few, `… (${counted(value.length, 'item')})`] : few
  }
  const few: [string, unknown][] = []
  for (const name in value) {
    if (few.length === MAX_ENTRIES || depth === MAX_DEPTH) {
      few.push(['…', '…'])
      break
    }
    const item = (value as Record<string, unknown>)[name]
    few.push([shortened(name, MAX_NESTED_TEXT), SECRET_NAME.test(name) ? HIDDEN : echo(item, depth + 1)])
  }
  return Object.fromEntries(few)
}
