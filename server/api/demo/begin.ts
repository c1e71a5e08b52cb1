import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import type { Auth } from '../../http/guards.ts'
import { signAccessToken } from '../../http/tokens.ts'
import { developerOf } from '../auth/developer.ts'

/** Begins to add or remove the demo data as the developer who asks for it, at the address that was asked. */
export async function beginDemo(what: 'add' | 'remove', auth: Auth, ctx: Context, deps: Dependencies): Promise<void> {
  const { localAddress = '127.0.0.1', localPort } = ctx.req.socket
  const host = localAddress.replace(/^::ffff:(?=\d+\.)/, '')
  const service = `http://${host.includes(':') ? `[${host}]` : host}:${localPort}`
  const token = await signAccessToken(deps.keys, 'developer', developerOf(auth))
  await deps.demo.begin({ service, token, what })
}
