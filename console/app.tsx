import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { address, go, match } from './router.ts'
import { NotFound } from './screens/not-found.tsx'
import { People } from './screens/people.tsx'
import { Person } from './screens/person.tsx'
import { SignIn } from './screens/sign-in.tsx'
import { ended, session } from './session.ts'
import { Dialog } from './ui/dialog.tsx'
import { Keys } from './ui/keys.tsx'
import { lazy } from './ui/lazy.tsx'

const Day = lazy(async () => (await import('./views.ts')).Day)
const Night = lazy(async () => (await import('./views.ts')).Night)
const Period = lazy(async () => (await import('./views.ts')).Period)
const Explore = lazy(async () => (await import('./views.ts')).Explore)
const Data = lazy(async () => (await import('./views.ts')).Data)
const Sources = lazy(async () => (await import('./views.ts')).Sources)
const Events = lazy(async () => (await import('./views.ts')).Events)
const Connections = lazy(async () => (await import('./views.ts')).Connections)
const Account = lazy(async () => (await import('./admin.ts')).Account)
const AllUploads = lazy(async () => (await import('./admin.ts')).AllUploads)
const Access = lazy(async () => (await import('./admin.ts')).Access)
const NewPerson = lazy(async () => (await import('./admin.ts')).NewPerson)

/** Every address and what it shows; the first that matches. */
const screens: readonly [pattern: string, show: (found: Record<string, string>) => ComponentChildren][] = [
  ['/people', () => <People />],
  ['/people/new', () => <NewPerson />],
  ['/people/:id', ({ id = '' }) => <Person id={id} />],
  ['/people/:id/day/:date', ({ id = '', date = '' }) => <Day id={id} date={date} />],
  ['/people/:id/night/:date', ({ id = '', date = '' }) => <Night id={id} date={date} />],
  ['/people/:id/month/:date', ({ id = '', date = '' }) => <Period id={id} date={date} view="month" />],
  ['/people/:id/year/:date', ({ id = '', date = '' }) => <Period id={id} date={date} view="year" />],
  ['/people/:id/explore', ({ id = '' }) => <Explore id={id} />],
  ['/people/:id/data', ({ id = '' }) => <Data id={id} />],
  ['/people/:id/sources', ({ id = '' }) => <Sources id={id} />],
  ['/people/:id/events', ({ id = '' }) => <Events id={id} />],
  ['/people/:id/connections', ({ id = '' }) => <Connections id={id} />],
  ['/uploads', () => <AllUploads />],
  ['/access', () => <Access />],
  ['/account', () => <Account />],
]

/** The console: the sign-in, or the shell around a screen. */
export function App() {
  const signedIn = session.value?.developer.id
  // The next click most likely leads to a day.
  useEffect(() => {
    if (signedIn) Day.preload()
  }, [signedIn])
  if (session.value === undefined) return <main aria-busy="true" />
  if (session.value === null) return <SignIn />
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Rail />
      <main id="content" tabIndex={-1}>
        <Screen path={address.value} />
      </main>
      <Keys />
      {ended.value && (
        <Dialog title="Signed out" onClose={undefined}>
          <p>Your sign-in has ended. Sign in to go on where you are.</p>
          <SignIn again />
        </Dialog>
      )}
    </div>
  )
}

function Screen({ path }: { path: string }) {
  useEffect(() => {
    if (path === '/') go('/people', true)
  }, [path])
  if (path === '/') return null
  for (const [pattern, show] of screens) {
    const found = match(pattern, path)
    if (found) return show(found)
  }
  return <NotFound />
}

function Rail() {
  const here = (path: string) => (address.value.startsWith(path) ? 'page' : undefined)
  return (
    <nav class="rail" aria-label="Main">
      <a class="brand" href="/console">
        Pulsebase
      </a>
      <a href="/console/people" aria-current={here('/people')}>
        People
      </a>
      <a href="/console/uploads" aria-current={here('/uploads')}>
        Uploads
      </a>
      <a href="/console/access" aria-current={here('/access')}>
        Access
      </a>
      <a href="/console/account" aria-current={here('/account')}>
        Account
      </a>
      <a href="/docs">API</a>
    </nav>
  )
}
