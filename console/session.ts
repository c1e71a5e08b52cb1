import { signal } from '@preact/signals'
import { answered, api, Failure, onSignedOut, type Schemas } from './api/client.ts'
import { signIns } from './api/query.ts'

/** Who is signed in: undefined until that is known, null for nobody. */
export const session = signal<Schemas['ConsoleSession'] | null | undefined>(undefined)

/** Whether the sign-in ended while a page was open, which goes on after the next one. */
export const ended = signal(false)

/** Why the first question could not be answered, or the link of the first start not be used. */
export const problem = signal<string | undefined>(undefined)

const tabs = new BroadcastChannel('pulsebase')

/** Finds out who is signed in; the code of a link signs in, and is taken out of the address at once. */
export async function startSession(): Promise<void> {
  onSignedOut(() => {
    if (session.value) ended.value = true
  })
  tabs.onmessage = ({ data }) => {
    if (data === 'signed out') leave()
    // It may be somebody else.
    if (data === 'signed in') void whoIsSignedIn()
  }
  // A link that is opened in a tab that shows the console changes nothing but this.
  addEventListener('hashchange', () => void withLink())
  if (!(await withLink())) await whoIsSignedIn()
}

/** Signs in with the code of a link. Returns whether there was one. */
async function withLink(): Promise<boolean> {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  if (!code) return false
  history.replaceState(null, '', location.pathname + location.search)
  try {
    await signIn({ code })
  } catch (error) {
    // Whoever opens the link again in the same browser is signed in already.
    await whoIsSignedIn()
    if (!session.value) problem.value = (error as Error).message
  }
  return true
}

async function whoIsSignedIn(): Promise<void> {
  try {
    entered(await known())
  } catch (error) {
    problem.value = (error as Failure).message
    // A page that is open stays.
    session.value ??= null
  }
}

const known = async () => (await answered(api.GET('/api/v1/console/session'))) ?? null

function entered(found: Schemas['ConsoleSession'] | null): void {
  session.value = found
  problem.value = undefined
  ended.value = false
  if (found) signIns.value += 1
}

function leave(): void {
  session.value = null
  ended.value = false
}

const NOT_KEPT =
  'The browser did not keep the sign-in. Open the console at the address of this service that API_BASE_URL names, with https.'

/** Signs in with email and password, or with a code. Throws a Failure, or an Error where the browser refuses the cookie. */
export async function signIn(body: { email?: string; password?: string; code?: string }): Promise<void> {
  await answered(api.POST('/api/v1/console/session', { body }))
  const found = await known()
  if (!found) throw new Error(NOT_KEPT)
  entered(found)
  tabs.postMessage('signed in')
}

/** Shows the sign-in here and in every tab, after the sign-in has ended. */
export function forget(): void {
  tabs.postMessage('signed out')
  leave()
}

/** Signs out here and in every tab, or in every browser. */
export async function signOut(everywhere = false): Promise<void> {
  const request = api.DELETE('/api/v1/console/session', { params: { query: { everywhere } } })
  try {
    await answered(request)
  } catch (error) {
    if (!(error instanceof Failure && error.status === 401)) throw error
  }
  forget()
}
