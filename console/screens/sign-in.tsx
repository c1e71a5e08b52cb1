import { useState } from 'preact/hooks'
import { problem, signIn } from '../session.ts'
import { useTitle } from '../ui/title.ts'

/** Email and password. `again`: over a page whose sign-in has ended. */
export function SignIn({ again = false }: { again?: boolean }) {
  return again ? <Form /> : <Page />
}

function Page() {
  useTitle('Sign in')
  return (
    <main class="sign-in">
      <h1>Pulsebase</h1>
      <Form />
      <p class="quiet">
        Lost the password? On the machine of the service, <code>npm run console:code</code> prints a link that signs in.
      </p>
    </main>
  )
}

function Form() {
  const [failure, setFailure] = useState<string>()
  const [busy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    setBusy(true)
    setFailure(undefined)
    try {
      await signIn({ email: String(form.get('email')), password: String(form.get('password')) })
    } catch (error) {
      setFailure((error as Error).message)
      setBusy(false)
    }
  }
  const shown = failure ?? problem.value
  return (
    <form onSubmit={submit}>
      <label>
        Email
        <input name="email" type="text" inputMode="email" autoComplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button type="submit" class="main" disabled={busy}>
        Sign in
      </button>
      <p class="problem" role="alert">
        {shown}
      </p>
    </form>
  )
}
