import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'

/** Text to take along, and a button that copies it. */
export function Code({ text, label }: { text: string; label: string }) {
  const element = useRef<HTMLPreElement>(null)
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    // Without TLS browsers have no clipboard but this one.
    if (element.current) getSelection()?.selectAllChildren(element.current)
    if (
      !(await navigator.clipboard?.writeText(text).then(
        () => true,
        () => false,
      ))
    )
      document.execCommand('copy')
    setCopied(true)
  }
  return (
    <div class="code">
      <pre ref={element}>{text}</pre>
      <button type="button" aria-label={`Copy: ${label}`} onClick={copy}>
        {copied ? 'Copied' : 'Copy'}
      </button>
    </div>
  )
}

interface SecretProps {
  title: string
  /** The secrets, by what they are called. */
  texts: Readonly<Record<string, string>>
  onClose(): void
  children?: ComponentChildren
}

/** Secrets that are shown this once: they leave the page with the dialog. */
export function Secret({ title, texts, onClose, children }: SecretProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>This is shown only now. Keep it where only you can read it.</p>
      {Object.entries(texts).map(([label, text]) => (
        <div key={label}>
          <p class="quiet">{label}</p>
          <Code text={text} label={label} />
        </div>
      ))}
      {children}
      <button type="button" class="main" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}
