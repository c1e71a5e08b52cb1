import { useEffect } from 'preact/hooks'

/** Where the focus stays when the page changes: one goes on typing, or to the next page. */
const STAYS = 'input, dialog, .steps-of-days'

/** Whether a page was shown before: the first one leaves the focus where the browser has put it. */
let opened = false

/** Lets the keyboard and readers of the screen go on from the heading. */
export function focusHeading(): void {
  const heading = document.querySelector('h1')
  if (heading) heading.tabIndex = -1
  heading?.focus({ preventScroll: true })
}

/**
 * Names the page in the browser's tab, never with a person's name, which histories would keep; and moves the focus to the
 * heading when another page has come, so that the keyboard and readers of the screen go on from there.
 */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Pulsebase`
    if (opened && !document.activeElement?.closest(STAYS)) focusHeading()
    opened = true
  }, [title])
}
