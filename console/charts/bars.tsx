/** Bars over the width of a lane, none for null; `high` is the height of the highest. */
export function Bars({ values, high }: { values: readonly (number | null)[]; high: number }) {
  return (
    <svg class="bars" viewBox={`0 0 ${values.length} 100`} preserveAspectRatio="none" aria-hidden="true">
      {values.map((value, index) =>
        value !== null && value > 0 ? (
          <rect key={index} x={index + 0.1} width={0.8} y={100 - (value / high) * 100} height={(value / high) * 100} />
        ) : null,
      )}
    </svg>
  )
}
