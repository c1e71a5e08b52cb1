import { useEffect, useRef, useState } from 'preact/hooks'

/** The width of an element in pixels, as it changes; 0 until it is known. */
export function useWidth<E extends HTMLElement>() {
  const element = useRef<E>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const box = element.current
    if (!box) return
    const resized = new ResizeObserver(() => setWidth(box.clientWidth))
    resized.observe(box)
    setWidth(box.clientWidth)
    return () => resized.disconnect()
  }, [])
  return [element, width] as const
}
