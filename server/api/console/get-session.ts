import { signedIn } from '../../http/console-cookie.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { ConsoleSession, consoleSession, consoleSessionExample } from './sessions.ts'

/** The sign-in whose cookie a request carries (contract 11). */
export const getConsoleSession = route(
  {
    method: 'GET',
    path: '/api/v1/console/session',
    operationId: 'getConsoleSession',
    summary: 'Who is signed in to the console',
    tag: 'Console',
    // A browser reports every 401 as an error, and being signed out is none.
    guard: 'public',
    share: 'own',
    response: ConsoleSession,
    example: consoleSessionExample,
    alsoAnswers: { 204: { description: 'Nobody is' } },
  },
  async ({ ctx }, deps) => {
    const auth = await signedIn(ctx, deps)
    const session = auth && (await deps.gates.guard.run('', () => consoleSession(deps.db, auth.signIn)))
    return session ?? new Reply(204, '', null)
  },
)
