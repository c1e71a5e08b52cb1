import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Reveal, Shown } from '../ui/states.tsx'
import { When } from '../ui/when.tsx'
import { count, words } from '../ui/words.ts'

interface RunsProps {
  runs: readonly Schemas['SyncRunSummary'][]
  nameOf(provider: string): string
}

/** The latest runs, each an upload or a question to a provider, with what it announced and stored. */
export function Runs({ runs, nameOf }: RunsProps) {
  return (
    <section>
      <h2>History</h2>
      <ul class="items">
        {runs.map((run) => (
          <li key={run.run_id} data-run={run.status}>
            <div>
              {nameOf(run.provider)} <State of={run.status} /> <When at={run.started_at} />
              <div class="quiet">{run.message}</div>
            </div>
            {run.status === 'in_progress' && (
              <div class="wide">
                <progress value={run.progress ?? undefined} aria-label={`${nameOf(run.provider)}: progress`} />
              </div>
            )}
            {run.error && <p class="wide warn">{run.error}</p>}
            <Reveal summary="What it announced and stored">{() => <Types id={run.run_id} />}</Reveal>
          </li>
        ))}
        {runs.length === 0 && <li>Nothing has come yet.</li>}
      </ul>
    </section>
  )
}

/** What became of an upload or a run, in words. */
export const STATES: Readonly<Record<string, string>> = {
  success: 'done',
  partial: 'partly stored',
  failed: 'failed',
  skipped: 'nothing to store',
  queued: 'waiting',
  in_progress: 'under way',
}

/** What became of it, as a mark. */
export const State = ({ of }: { of: string }) => <span class="tag">{STATES[of] ?? of}</span>

function Types({ id }: { id: string }) {
  const run = useQuery(`run ${id}`, (signal) =>
    answered(api.GET('/api/v1/sync/history/{run_key}', { params: { path: { run_key: id } }, signal })),
  )
  return (
    <Shown query={run} what="the run">
      {({ data_types }) => (
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Announced</th>
              <th scope="col">New</th>
              <th scope="col">Changed</th>
            </tr>
          </thead>
          <tbody>
            {data_types.map((one) => (
              <tr key={`${one.kind} ${one.data_type}`}>
                <th scope="row">
                  {words(one.data_type)}
                  {one.kind === 'task' && ` (asked for: ${STATES[one.status] ?? one.status})`}
                  {(one.error ?? one.error_code) && <div class="warn">{one.error ?? one.error_code}</div>}
                </th>
                <td>{one.reported_records === null ? '–' : count(one.reported_records)}</td>
                <td>{count(one.items_inserted)}</td>
                <td>{count(one.items_updated)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Shown>
  )
}
