/** The application that the service is, at one provider. */
export interface Client {
  readonly id: string
  readonly secret: string
}

/** Whether an Authorization header is HTTP Basic with a client's id and secret. */
export function isBasic(authorization: string, { id, secret }: Client): boolean {
  if (!/^basic /i.test(authorization)) return false
  const [name = '', password = ''] = Buffer.from(authorization.slice(6), 'base64').toString().split(':')
  return decoded(name) === id && decoded(password) === secret
}

/** Text that was encoded as in a form. */
function decoded(text: string): string | null {
  return new URLSearchParams(`text=${text}`).get('text')
}
