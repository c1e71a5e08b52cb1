import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Empty, Shown } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
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

const day = (instant: string | null | undefined) => instant?.slice(0, 10) ?? null

function Loaded({ user }: { user: Schemas['UserDetail'] }) {
  const sources = useQuery(`sources ${user.id}`, (signal) => readSources(user.id, signal))
  return (
    <Shown query={sources} what="sources">
      {(all) =>
        all.length > 0 ? (
          <>
            <p>
              Where several measured the same, the one further up counts, and the others fill in what it lacks. The
              order of providers and of kinds of devices is that of the API’s priorities.
            </p>
            <Table
              name="Sources"
              head={['Source', 'App or device', 'From', 'Kind', 'First', 'Last', 'Counts first for', 'Has']}
              rows={all.map((one, index) => [
                one.device_model ?? one.source ?? words(one.provider),
                one.source,
                words(one.provider),
                one.device_type && words(one.device_type),
                day(one.first_at),
                day(one.last_at),
                Object.keys(one.counts ?? {})
                  .filter((type) => !all.slice(0, index).some(({ counts }) => counts?.[type]))
                  .sort()
                  .map(words)
                  .join(', ') || null,
                Object.entries(one.counts ?? {})
                  .sort(([, a], [, b]) => b - a)
                  .map(([type, samples]) => `${words(type)} ${count(samples)}`)
                  .join(', ') || null,
              ])}
            />
          </>
        ) : (
          <Empty>Nothing was ever sent of this person.</Empty>
        )
      }
    </Shown>
  )
}
