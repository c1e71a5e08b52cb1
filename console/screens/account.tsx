import { useState } from 'preact/hooks'
import { answered, api } from '../api/client.ts'
import { forget, session, signOut } from '../session.ts'
import { useTitle } from '../ui/title.ts'
import { Demo } from './demo.tsx'

const MIN_LENGTH = 12

/** The developer who is signed in: a new password, and signing out. */
export function Account() {
  useTitle('Account')
  const [failure, setFailure] = useState<string>()
  const out = (everywhere: boolean) => {
    setFailure(undefined)
    signOut(everywhere).catch((error) => setFailure(`You are still signed in: ${(error as Error).message}`))
  }
  return (
    <>
      <h1>Account</h1>
      <p>
        Signed in as <strong dir="auto">{session.value?.developer.email}</strong>.
      </p>
      <p class="buttons">
        <button type="button" onClick={() => out(false)}>
          Sign out
        </button>
        <button type="button" onClick={() => out(true)}>
          Sign out in every browser
        </button>
      </p>
      <p class="problem" role="alert">
        {failure}
      </p>
      <NewPassword />
      <section>
        <h2>Demo data</h2>
        <p>
          Three invented people with a year of data that ends now, to look around. They need 170 MB of disk space, and
          go as they came, with one click.
        </p>
        <Demo />
      </section>
    </>
  )
}

function NewPassword() {
  const [failure, setFailure] = useState<string>()
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    setFailure(undefined)
    try {
      await answered(api.PATCH('/api/v1/auth/me', { body: { password: String(form.get('password')) } }))
      forget()
    } catch (error) {
      setFailure((error as Error).message)
    }
  }
  return (
    <form onSubmit={submit} class="card">
      <h2>New password</h2>
      <p>It ends every sign-in and every login of this account, this one as well.</p>
      <input type="hidden" name="username" autoComplete="username" value={session.value?.developer.email} />
      <label>
        New password, {MIN_LENGTH} characters or more
        <input name="password" type="password" autoComplete="new-password" minLength={MIN_LENGTH} required />
      </label>
      <button type="submit" class="main">
        Save
      </button>
      <p class="problem" role="alert">
        {failure}
      </p>
    </form>
  )
}
