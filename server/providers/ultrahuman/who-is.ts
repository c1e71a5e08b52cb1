import { textAt, valueAt } from '../answers.ts'
import type { Answer, Call, Identity } from '../provider.ts'
import { zoneIn } from './streams.ts'

/** How often the account is asked for, and how long an answer is waited for: both together less than a person waits. */
const ATTEMPTS = 2
const PATIENCE_MS = 4_000

/** Whose account it is, as far as Ultrahuman says. Without notices nothing depends on it, so nothing keeps people from connecting. */
export async function whoIs(call: Call, patienceMs = PATIENCE_MS): Promise<Identity> {
  let answer: Answer | undefined
  for (let attempt = 0; attempt < ATTEMPTS && (answer === undefined || answer.status >= 500); attempt += 1)
    answer = await inTime(call({ path: '/user_data/user_info' }), patienceMs)
  const json = answer?.status === 200 ? answer.json : undefined
  const data = valueAt(json, 'data')
  const id = [valueAt(data, 'user_id'), valueAt(json, 'user_id'), valueAt(json, 'id'), valueAt(data, 'id')].find(isId)
  return {
    id: id === undefined ? null : String(id),
    username: nameIn(json) ?? nameIn(data) ?? null,
    zone: zoneIn(json, 'timezone') ?? zoneIn(data, 'timezone'),
  }
}

/** Undefined: there is no answer, or not in time. */
function inTime(answer: Promise<Answer>, patienceMs: number): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patienceMs, undefined)
    answer.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer))
  })
}

const nameIn = (json: unknown) => textAt(json, 'username') ?? textAt(json, 'email')

const isId = (value: unknown) =>
  Number.isSafeInteger(value) || /^[\w.@-]{1,100}$/.test(typeof value === 'string' ? value : '')
