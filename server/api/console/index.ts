import type { Route } from '../../http/route.ts'
import { getConsoleSession } from './get-session.ts'
import { signIn } from './sign-in.ts'
import { signOut } from './sign-out.ts'

/** Sign-ins of the web console. */
export const consoleRoutes: readonly Route[] = [signIn, getConsoleSession, signOut]
