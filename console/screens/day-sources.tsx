import type { Schemas } from '../api/client.ts'
import { nameOfSource } from '../charts/same.ts'
import { Table } from '../ui/table.tsx'
import { count } from '../ui/words.ts'

const MEASURES = [
  ['steps', 'Steps'],
  ['distance_meters', 'Distance, m'],
  ['floors_climbed', 'Floors'],
  ['active_calories_kcal', 'Active, kcal'],
  ['heart_rate_samples', 'Heart rates'],
] as const

/** Of which source each figure of a day is, and what was left out since another one counts. */
export function DaySources({ id, activity }: { id: string; activity: Schemas['ActivitySummary'] | undefined }) {
  const sources = activity?.sources ?? []
  if (sources.length === 0) return null
  const shown = MEASURES.filter(([name]) => sources.some((one) => one.counted[name] || one.dropped[name]))
  return (
    <details>
      <summary>Sources</summary>
      <Table
        name="Sources of the day"
        head={['The best first', ...shown.map(([, title]) => title)]}
        rows={sources.map(({ source, counted, dropped }) => [
          nameOfSource(source),
          ...shown.map(([name]) => {
            const [own, left] = [counted[name], dropped[name]]
            if (own === null && left === null) return null
            return `${count(own ?? 0)}${left ? `, not counted ${count(left)}` : ''}`
          }),
        ])}
      />
      <p class="quiet">
        Of each quarter of an hour the best source counts that has it.{' '}
        <a href={`/console/people/${id}/sources`}>All sources</a>
      </p>
    </details>
  )
}
