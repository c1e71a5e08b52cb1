import { textAt } from '../answers.ts'
import type { Account, Answer, Call, Form } from '../provider.ts'
import { hmacHex } from '../signing.ts'
import { judge, statusOf } from './envelope.ts'
import { listRequest, readProfiles, removeRequest } from './notify.ts'

/** Subscriptions of an account that are ended one by one. */
const MAX_PROFILES = 50

/**
 * Ends the tokens and notifications of an account, with a nonce, and signed; where that is not offered, its notifications
 * alone. The answer has the status that HTTP has for what happened.
 */
export async function leave({ id }: Account, call: Call): Promise<Answer> {
  const revoked = id === null ? undefined : await revoke(id, call)
  return revoked !== undefined && statusOf(revoked) === 0 ? revoked : endNotices(call)
}

/** Undefined: there is no nonce. */
async function revoke(userid: string, call: Call): Promise<Answer | undefined> {
  const asked = await signed(call, '/v2/signature', { action: 'getnonce', timestamp: String(call.nowSeconds) })
  const nonce = textAt(asked.json, 'body', 'nonce')
  if (nonce === undefined) return undefined
  return signed(call, call.tokenUrl, { action: 'revoke', nonce }, { userid })
}

/** The values of the fields that are signed, in the order of the names of the fields; `more` is not. */
function signed(call: Call, path: string, fields: Form, more: Form = {}): Promise<Answer> {
  const { clientId, clientSecret } = call.settings
  const form: Form = { ...fields, client_id: clientId }
  const text = Object.entries(form)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, value]) => value)
    .join(',')
  return call({
    ...{ path, method: 'POST', as: 'nobody' },
    form: { ...form, ...more, signature: hmacHex(clientSecret, text) },
  })
}

async function endNotices(call: Call): Promise<Answer> {
  const listed = await call(listRequest())
  if (listed.status !== 200) return listed
  // With tokens that no longer work there is nothing left to end.
  if (statusOf(listed) !== 0) return { ...listed, status: judge(listed) === 'auth' ? 401 : 503 }
  for (const one of readProfiles(listed).slice(0, MAX_PROFILES)) await call(removeRequest(one))
  return listed
}
