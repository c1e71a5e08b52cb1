import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Query } from '../api/query.ts'

/** A bar that appears after 300 ms. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="hidden">Loading {what}</span>
    </div>
  )
}

/** What failed, and a way to try again. */
export function Failed({ query }: { query: Query<unknown> }) {
  const { failure, again } = query
  return (
    <div class="failed" role="alert">
      <p>{failure?.message}</p>
      <button type="button" onClick={again}>
        Try again
      </button>
      {failure?.requestId && <p class="quiet">Request {failure.requestId}</p>}
    </div>
  )
}

/** Why a place is empty, and what to do next. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

interface ShownProps<T> {
  query: Query<T>
  what: string
  children: (data: T) => ComponentChildren
}

/** An answer once it is there: until then that it is loading, or what failed. */
export function Shown<T>({ query, what, children }: ShownProps<T>) {
  if (query.state === 'loading') return <Loading what={what} />
  if (query.state === 'failed') return <Failed query={query} />
  return <>{children(query.data as T)}</>
}

/** Something to open, which is made only then. */
export function Reveal({ summary, children }: { summary: string; children: () => ComponentChildren }) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>{summary}</summary>
      {open && children()}
    </details>
  )
}
