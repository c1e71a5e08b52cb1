import { signal } from '@preact/signals'

/** The address below `/console`: it holds the whole view. */
export const address = signal(current())

function current(): string {
  return location.pathname.replace(/^\/console\/?/, '/').replace(/\/+$/, '') || '/'
}

/** The query of the address. */
export const query = signal(new URLSearchParams(location.search))

function read(): void {
  address.value = current()
  query.value = new URLSearchParams(location.search)
}

/** Shows another address; `replace` leaves no way back to the present one. */
export function go(path: string, replace = false): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', `/console${path === '/' ? '' : path}`)
  read()
}

/** Changes fields of the query; null takes one out. */
export function ask(fields: Record<string, string | null>, replace = true): void {
  const params = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) params.delete(name)
    else params.set(name, value)
  }
  go(address.value + (params.size > 0 ? `?${params}` : ''), replace)
}

/** The parts of the address that match `pattern`, such as `/people/:id/day/:date`; undefined if it does not match. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const names = pattern.split('/')
  const parts = path.split('/')
  if (names.length !== parts.length) return undefined
  const found: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? ''
    if (!name.startsWith(':')) {
      if (name !== part) return undefined
      continue
    }
    try {
      found[name.slice(1)] = decodeURIComponent(part)
    } catch {
      // No text: as good as another address.
      return undefined
    }
  }
  return found
}

/** Follows links within the console without loading the page again; others, and clicks for a new tab, are left alone. */
export function followLinks(): void {
  addEventListener('popstate', read)
  addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    if (!link || !plain || link.target || link.origin !== location.origin) return
    if (link.pathname !== '/console' && !link.pathname.startsWith('/console/')) return
    // A place of the present page, such as its content.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return
    event.preventDefault()
    go(link.pathname.replace(/^\/console/, '') + link.search || '/')
    scrollTo(0, 0)
  })
}
