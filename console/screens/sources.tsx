import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Empty, Shown } from '../ui/states.tsx'
import { count, words } from '../ui/words.ts'
import { PersonPage } from './person.tsx'

/** The devices and apps of a person, the one that counts first on top. */
export function Sources({ id }: { id: string }) {
  return (
    <PersonPage id={id} view="sources">
      {(user) => <Loaded key={id} user={user} />}
    </PersonPage>
  )
}

async function readSources(id: string, signal: AbortSignal) {
  const params = { path: { user_id: id }, query: { include: ['data' as const] } }
  const [sources, providers, kinds] = await Promise.all([
    answered(api.GET('/api/v1/users/{user_id}/data-sources', { params, signal })),
    answered(api.GET('/api/v1/priorities/providers', { signal })),
    answered(api.GET('/api/v1/priorities/device-types', { signal })),
  ])
  const place = (list: readonly { priority: number }[], found: number) =>
    list[found]?.priority ?? Number.POSITIVE_INFINITY
  const rank = ({ provider, device_type }: Schemas['DataSource']): [number, number] => [
    place(
      providers.items,
      providers.items.findIndex((one) => one.provider === provider),
    ),
    place(
      kinds.items,
      kinds.items.findIndex((one) => one.device_type === device_type),
    ),
  ]
  return sources.items.toSorted((a, b) => {
    const [one, other] = [rank(a), rank(b)]
    return one[0] === other[0] ? (one[1] === other[1] ? 0 : one[1] - other[1]) : one[0] - other[0]
  })
}

const day = (instant: string | null | undefined) => instant?.slice(0, 10)

function Loaded({ user }: { user: Schemas['UserDetail'] }) {
  const sources = useQuery(`sources ${user.id}`, (signal) => readSources(user.id, signal))
  return (
    <Shown query={sources} what="sources">
      {(all) =>
        all.length > 0 ? (
          <>
            <p>Where several measured the same, the one further up counts, and the others fill in what it lacks.</p>
            {all.map((one, index) => (
              <Source key={one.id} source={one} before={all.slice(0, index)} />
            ))}
          </>
        ) : (
          <Empty>Nothing was ever sent of this person.</Empty>
        )
      }
    </Shown>
  )
}

function Source({ source, before }: { source: Schemas['DataSource']; before: readonly Schemas['DataSource'][] }) {
  const { provider, device_name, device_model, device_type, source: app, first_at, last_at, counts = {} } = source
  const first = Object.keys(counts).filter((type) => !before.some((one) => one.counts?.[type]))
  return (
    <section class="source" dir="auto">
      <h2>{device_name ?? device_model ?? app ?? words(provider)}</h2>
      <p class="quiet">{[app, device_type && words(device_type), words(provider)].filter(Boolean).join(' · ')}</p>
      <p>{first_at ? `${day(first_at)} to ${day(last_at)} (UTC)` : 'No data'}</p>
      {first.length > 0 && <p>Counts first for: {first.sort().map(words).join(', ')}</p>}
      <ul>
        {Object.entries(counts)
          .sort(([, a], [, b]) => b - a)
          .map(([type, samples]) => (
            <li key={type}>
              {words(type)} {count(samples)}
            </li>
          ))}
      </ul>
    </section>
  )
}
