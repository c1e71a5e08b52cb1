import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { cookieOf } from '../../http/console-cookie.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { endSignIns } from './sessions.ts'

/** Signs a browser out of the console, or all of a developer (contract 11). */
export const signOut = route(
  {
    method: 'DELETE',
    path: '/api/v1/console/session',
    operationId: 'signOutOfConsole',
    summary: 'Sign out of the console',
    tag: 'Console',
    guard: 'developer',
    share: 'login',
    query: Type.Object({
      everywhere: Type.Boolean({ default: false, description: 'Every browser of this developer, not only this one' }),
    }),
    status: 204,
    headers: {
      'Set-Cookie': 'Removes the cookie',
      'Clear-Site-Data': 'Lets the browser forget what it keeps of this service',
    },
  },
  async ({ auth, query }, { db, config }) => {
    if (auth.kind !== 'developer' || !auth.signIn) throw errors.notDeveloper()
    await endSignIns(db, auth.signIn, query.everywhere)
    return new Reply(204, '', null, { 'Set-Cookie': cookieOf(config), 'Clear-Site-Data': '"cache"' })
  },
)
