import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  title: string
  /** Absent: it closes only when it is taken away. */
  onClose: (() => void) | undefined
  children: ComponentChildren
}

/** How many are open, and where the first was opened: whoever works with the keyboard goes on there. */
let open = 0
let opener: HTMLElement | null = null

/** A modal dialog over the page, which keeps what was typed there. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    if (open === 0) opener = document.activeElement as HTMLElement | null
    open += 1
    const dialog = element.current
    dialog?.showModal()
    return () => {
      // While it is open nothing else takes the focus.
      dialog?.close()
      open -= 1
      if (open === 0) opener?.focus()
    }
  }, [])
  const cancel = (event: Event) => {
    if (!onClose) event.preventDefault()
  }
  // A browser closes it at the second Escape, whatever is said to the first.
  const closed = () => (onClose ? onClose() : element.current?.showModal())
  return (
    <dialog ref={element} aria-labelledby={id} onCancel={cancel} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
