interface PagerProps {
  /** The cursors of the pages so far; the first page has none. */
  pages: readonly (string | undefined)[]
  next: string | null
  show(pages: (string | undefined)[]): void
}

/** From page to page of a list that begins with the newest. */
export function Pager({ pages, next, show }: PagerProps) {
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
