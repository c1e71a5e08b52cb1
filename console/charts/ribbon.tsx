import type { Night } from './sleep.ts'

interface RibbonProps {
  nights: readonly Night[]
  from: number
  until: number
}

/** Sleep as a band in the colours of its stages, as wide as its lane. */
export function Ribbon({ nights, from, until }: RibbonProps) {
  const x = (local: number) => ((Math.min(Math.max(local, from), until) - from) / (until - from)) * 1000
  const parts = nights.flatMap((night) => night.parts).filter((part) => part.until > from && part.from < until)
  return (
    <svg class="ribbon" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
      {parts.map((part) => (
        <rect
          key={`${part.stage} ${part.from}`}
          class={`stage ${part.stage}`}
          x={x(part.from)}
          width={Math.max(0.6, x(part.until) - x(part.from))}
          y={part.stage === 'in_bed' ? 8 : 0}
          height={part.stage === 'in_bed' ? 4 : 20}
        />
      ))}
    </svg>
  )
}
