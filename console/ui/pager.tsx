import { focusHeading } from './title.ts'

interface PagerProps {
  /** The cursors of the pages so far; the first page has none. */
  pages: readonly (string | undefined)[]
  next: string | null
  show(pages: (string | undefined)[]): void
}

/** From page to page of a list that begins with the newest: each is read from its top. */
export function Pager({ pages, next, show: change }: PagerProps) {
  const show = (to: (string | undefined)[]) => {
    change(to)
    focusHeading()
    scrollTo(0, 0)
  }
  return (
    <nav class="buttons" aria-label="Pages">
      {pages.length > 1 && (
        <button type="button" onClick={() => show(pages.slice(0, -1))}>
          Newer
        </button>
      )}
      {next && (
        <button type="button" onClick={() => show([...pages, next])}>
          Older
        </button>
      )}
    </nav>
  )
}
