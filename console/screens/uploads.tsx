import type { ComponentChildren } from 'preact'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Do } from '../ui/act.tsx'
import { Reveal, Shown } from '../ui/states.tsx'
import { counted, When } from '../ui/when.tsx'
import { count } from '../ui/words.ts'
import { State } from './runs.tsx'

type Upload = Schemas['UploadBatch']

interface UploadsProps {
  uploads: readonly Upload[]
  nameOf(provider: string): string
  changed(): void
  /** Whose it is, where there are uploads of many. */
  whose?(upload: Upload): ComponentChildren
}

/** Uploads with what became of them. */
export function Uploads({ uploads, nameOf, changed, whose }: UploadsProps) {
  return (
    <ul class="items">
      {uploads.map((one) => (
        <li key={one.batch_id} data-upload={one.status}>
          <div>
            {whose?.(one)} {nameOf(one.provider)} <State of={one.status} />
            {one.replay_of && <span class="tag">imported again</span>} <When at={one.received_at} />
            <div class="quiet">{countsOf(one)}</div>
          </div>
          {one.error && <p class="wide warn">{one.error}</p>}
          {leftOut(one) > 0 && (
            <Reveal summary={`${counted(leftOut(one), 'item')} not stored, or not as sent`}>
              {() => <LeftOut upload={one} />}
            </Reveal>
          )}
          {one.body_kept && (
            <div class="buttons">
              <Do
                work={async () => {
                  const params = { path: { user_id: one.user_id, batch_id: one.batch_id } }
                  await answered(api.POST('/api/v1/sdk/users/{user_id}/sync/batches/{batch_id}/import', { params }))
                  changed()
                }}
              >
                Import again
              </Do>
            </div>
          )}
        </li>
      ))}
      {uploads.length === 0 && <li>There is none.</li>}
    </ul>
  )
}

const sum = (items: readonly { items: number | null }[]) => items.reduce((all, one) => all + (one.items ?? 1), 0)

const leftOut = (one: Upload) => one.dropped_count + one.ignored_type + sum(one.implausible) + sum(one.unknown_fields)

function countsOf(one: Upload): string {
  const counts: [number, string][] = [
    [one.inserted, 'new'],
    [one.updated, 'changed'],
    [one.unchanged, 'known before'],
    [one.duplicates, 'sent twice'],
    [one.deleted, 'deleted'],
    [one.ignored_type, 'of types that are not stored'],
    [one.dropped_count, 'unusable'],
  ]
  const parts = counts.filter(([items]) => items > 0).map(([items, what]) => `${count(items)} ${what}`)
  return [`${count(one.received)} received`, ...parts].join(', ')
}

const MOST = 100

/** Each dropped record, by its place and the reason, and what else was not stored. */
function LeftOut({ upload: { user_id, batch_id } }: { upload: Upload }) {
  const batch = useQuery(`upload ${batch_id}`, (signal) => {
    const params = { path: { user_id, batch_id } }
    return answered(api.GET('/api/v1/sdk/users/{user_id}/sync/batches/{batch_id}', { params, signal }))
  })
  return (
    <Shown query={batch} what="the upload">
      {(one) => (
        <ul>
          {one.dropped.slice(0, MOST).map(({ collection, index, id, loc, msg }) => (
            <li key={`${collection} ${index} ${loc}`}>
              {collection}
              {index !== null && ` no. ${index + 1}`} <bdi>{id}</bdi> {loc.slice(index === null ? 1 : 3).join('.')}:{' '}
              {msg}
            </li>
          ))}
          {one.dropped_count > MOST && <li>… {count(one.dropped_count)} in all</li>}
          {one.ignored_types.map(({ type, items, likely, known_to }) => (
            <li key={type}>
              {counted(items, 'item')} of type <code>{type ?? 'other'}</code>: not stored.
              {likely && ` Probably meant: ${likely}.`}
              {known_to.length > 0 && ` It is a name of ${known_to.join(', ')}.`}
            </li>
          ))}
          {one.implausible.map(({ type, items, lowest, highest, unit }) => (
            <li key={type}>
              {counted(items, 'value')} of {type} outside {lowest}–{highest} {unit}: kept apart, counted nowhere.
            </li>
          ))}
          {one.unknown_fields.map(({ field, likely }) => (
            <li key={field}>
              Field <code>{field}</code>: not read.{likely && ` Probably meant: ${likely}.`}
            </li>
          ))}
        </ul>
      )}
    </Shown>
  )
}
