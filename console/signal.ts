import { useEffect, useState } from 'preact/hooks'

/** A value that the screen shows: setting another one draws it again. */
export interface Signal<T> {
  value: T
}

/** Draws the whole console. */
let drawAll = () => {}

function changing<T>(known: T, draw: () => void): Signal<T> {
  return {
    get value() {
      return known
    },
    set value(next: T) {
      if (Object.is(next, known)) return
      known = next
      draw()
    },
  }
}

/** A value of the whole console, such as its address. */
export const signal = <T>(initial: T): Signal<T> => changing(initial, () => drawAll())

/** A value of a component, drawn again with what is below it. */
export function useSignal<T>(initial: T): Signal<T> {
  const draw = useDraw()
  return useState(() => changing(initial, draw))[0]
}

/** Makes a component the one that is drawn again when a value of the whole console changes. */
export function useSignals(): void {
  const draw = useDraw()
  useEffect(() => {
    drawAll = draw
    // Something may have changed since it was drawn first.
    draw()
  }, [])
}

function useDraw(): () => void {
  const [, count] = useState(0)
  return () => count((times) => times + 1)
}
