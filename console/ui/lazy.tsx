import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { Loading } from './states.tsx'

/** A screen whose code the browser loads when it is first wanted. */
export type Lazy<P> = ComponentType<P> & { preload(): void }

/** A screen in a file of its own, which `load` imports; `preload` begins that early. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): Lazy<P> {
  const loaded = signal<{ Screen?: ComponentType<P> } | undefined>(undefined)
  let asked = false
  const preload = () => {
    if (asked) return
    asked = true
    load().then(
      (Screen) => {
        loaded.value = { Screen }
      },
      () => {
        loaded.value = {}
      },
    )
  }
  function Loaded(props: P) {
    useEffect(preload, [])
    if (!loaded.value) return <Loading what="the page" />
    const { Screen } = loaded.value
    return Screen ? <Screen {...props} /> : <Outdated />
  }
  return Object.assign(Loaded, { preload })
}

/** The names of the files change with every version of the service. */
function Outdated() {
  return (
    <div class="failed" role="alert">
      <p>This part of the console could not be loaded. The service may have been updated, or cannot be reached.</p>
      <button type="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  )
}
