import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren, RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import type { Window } from '../api/explore.ts'
import { DAY_MS, MINUTE_MS } from './time.ts'

const LEAST_MS = 2 * MINUTE_MS
const MOST_MS = 20 * 366 * DAY_MS
/** A shorter way of the pointer is a click. */
const DRAG_PX = 6

interface ZoomProps {
  window: Window
  whole: Window
  cursor: Signal<number | undefined>
  /** What is being marked by a drag. */
  marked: Signal<Window | undefined>
  /** Shows another window; `passing` while fingers or a wheel go on. */
  show(window: Window, passing?: boolean): void
  back(): void
  children: ComponentChildren
}

/** A window some times as wide around a place that stays where it is, shifted by a share of its width. */
export function zoomed({ from, until }: Window, factor: number, around: number, shift = 0): Window {
  const width = Math.min(Math.max((until - from) * factor, LEAST_MS), MOST_MS)
  const left = around - ((around - from) / (until - from)) * width + shift * width
  return { from: left, until: left + width }
}

interface PointersProps extends Pick<ZoomProps, 'marked' | 'show'> {
  box: RefObject<HTMLDivElement | null>
  /** Where a pointer is. */
  place(event: MouseEvent): { local: number; share: number }
}

/** One pointer marks a part of the axis; two keep the places that they hold. */
function usePointers({ box, place, marked, show }: PointersProps) {
  const start = useSignal(0)
  // Where each pointer was pressed, and where it is now, as shares of the plot.
  const held = useRef(new Map<number, { local: number; share: number }>())
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return
    held.current.set(event.pointerId, place(event))
    start.value = event.clientX
  }
  const move = (event: PointerEvent) => {
    const own = held.current.get(event.pointerId)
    if (!own) return
    own.share = place(event).share
    const [one, two] = held.current.values()
    if (one && two) {
      marked.value = undefined
      const width = (two.local - one.local) / (two.share - one.share)
      const from = one.local - one.share * width
      if (width > LEAST_MS && width < MOST_MS) show({ from, until: from + width }, true)
    } else if (Math.abs(event.clientX - start.value) > DRAG_PX) {
      box.current?.setPointerCapture(event.pointerId)
      const ends = [own.local, place(event).local]
      marked.value = { from: Math.min(...ends), until: Math.max(...ends) }
    }
  }
  const up = (event: PointerEvent) => {
    const found = marked.value
    marked.value = undefined
    held.current.delete(event.pointerId)
    if (found && event.type === 'pointerup') show(zoomed(found, 1, found.from))
  }
  return { onPointerDown: down, onPointerMove: move, onPointerUp: up, onPointerCancel: up }
}

/** Lanes that are zoomed by drag, pinch, Ctrl and wheel, double click and the keys + − 0, and moved by Shift and arrows. */
export function Zoom({ window, whole, cursor, marked, show, back, children }: ZoomProps) {
  const box = useRef<HTMLDivElement>(null)
  const place = ({ clientX }: MouseEvent) => {
    const plot = box.current?.querySelector('.plot')?.getBoundingClientRect()
    const share = plot && plot.width > 0 ? (clientX - plot.left) / plot.width : 0
    return { share, local: window.from + Math.min(Math.max(share, 0), 1) * (window.until - window.from) }
  }
  const pointers = usePointers({ box, place, marked, show })
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return
    event.preventDefault()
    show(zoomed(window, 2 ** (event.deltaY / 300), place(event).local), true)
  }
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const change = CHANGES[(event.shiftKey && event.key.startsWith('Arrow') ? 'Shift' : '') + event.key]
    if (event.key === '0') show(whole)
    if (change) show(zoomed(window, change[0], cursor.value ?? (window.from + window.until) / 2, change[1]))
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the lanes within have the focus
    <div ref={box} class="zoom" {...pointers} onWheel={wheel} onDblClick={back} onKeyDown={key}>
      {children}
    </div>
  )
}

/** What keys do: the factor of the width, and the shift as a share of it. */
const CHANGES: Readonly<Record<string, readonly [number, number]>> = {
  '+': [0.5, 0],
  '=': [0.5, 0],
  '-': [2, 0],
  ShiftArrowLeft: [1, -0.5],
  ShiftArrowRight: [1, 0.5],
}
