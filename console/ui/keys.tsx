import { useEffect, useState } from 'preact/hooks'
import { address, go } from '../router.ts'
import { personKey, personKeys } from '../screens/person.tsx'
import { Dialog } from './dialog.tsx'

/** Two keys, one after the other, lead to a place from anywhere. */
const PLACES: Readonly<Record<string, [path: string, name: string]>> = {
  p: ['/people', 'people'],
  u: ['/uploads', 'uploads'],
  k: ['/access', 'access'],
  a: ['/account', 'account'],
}
/** How long the second key may take. */
const SECOND_KEY_MS = 1500

/** The keys of the console, and the list of them that `?` opens. */
export function Keys() {
  const [listed, list] = useState(false)
  useEffect(() => {
    let wentAtMs = Number.NEGATIVE_INFINITY
    const pressed = (event: KeyboardEvent) => {
      const typing = event.target instanceof Element && event.target.closest('input, textarea, select, dialog')
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return
      const place = performance.now() - wentAtMs < SECOND_KEY_MS ? PLACES[event.key] : undefined
      wentAtMs = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY
      const path = place?.[0] ?? personKey(event.key, address.value)
      if (path) go(path)
      else if (event.key === '?') list(true)
      else if (event.key === '/') search(event)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  if (!listed) return null
  const keys = [
    ['/', 'search people'],
    ...Object.entries(PLACES).map(([key, [, name]]) => [`g ${key}`, name]),
    ...personKeys,
    ['?', 'this list'],
  ]
  return (
    <Dialog title="Keys" onClose={() => list(false)}>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => list(false)}>
        Close
      </button>
    </Dialog>
  )
}

/** Puts the cursor into the search of people, on whatever page. */
function search(event: KeyboardEvent): void {
  event.preventDefault()
  if (address.value !== '/people') go('/people')
  setTimeout(() => document.querySelector<HTMLInputElement>('input[type=search]')?.focus())
}
