import { useEffect } from 'preact/hooks'

/** Names the page in the browser's tab; never with a person's name, which histories would keep. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Pulsebase`
  }, [title])
}
