import { createPrivateKey, createSign } from 'node:crypto'
import { textAt } from '../answers.ts'
import type { ProviderSettings, Request } from '../provider.ts'

/** What a service account may do for us at Google: subscribe the application to notices. */
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const LIFE_SECONDS = 3_600

interface ServiceAccount {
  readonly email: string
  readonly key: string
  readonly keyId: string | undefined
}

function accountIn(text: string): ServiceAccount | undefined {
  try {
    const json: unknown = JSON.parse(text)
    const [email, key] = [textAt(json, 'client_email'), textAt(json, 'private_key')]
    if (email === undefined || key === undefined || createPrivateKey(key).asymmetricKeyType !== 'rsa') return undefined
    return { email, key, keyId: textAt(json, 'private_key_id') }
  } catch {
    return undefined
  }
}

/** Whether a text is the file of a service account, as Google's console writes it. */
export const isServiceAccount = (text: string): boolean => accountIn(text) !== undefined

/**
 * The request for a token of the application: a signed assertion (RFC 7523, 2.1; RS256 of RFC 7518, 3.3). Text says what an
 * operator has to set first.
 */
export function applicationRequest({ more }: ProviderSettings, tokenUrl: string, nowSeconds: number): Request | string {
  const account = accountIn(more.SERVICE_ACCOUNT_FILE ?? '')
  if (!account || !more.PROJECT_ID) {
    return 'Set GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE and GOOGLE_HEALTH_PROJECT_ID first: Google lets a service account of your project subscribe'
  }
  const header = { alg: 'RS256', typ: 'JWT', ...(account.keyId !== undefined && { kid: account.keyId }) }
  const times = { iat: nowSeconds, exp: nowSeconds + LIFE_SECONDS }
  const claims = { iss: account.email, scope: SCOPE, aud: tokenUrl, ...times }
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = createSign('RSA-SHA256').update(text).sign(account.key, 'base64url')
  return { path: tokenUrl, method: 'POST', form: { grant_type: GRANT, assertion: `${text}.${signature}` } }
}
