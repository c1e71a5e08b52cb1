import type { Schemas } from '../api/client.ts'
import { readCoverage } from '../api/coverage.ts'
import { useQuery } from '../api/query.ts'
import { type Coverage, type Finding, whyEmpty } from '../charts/coverage.ts'
import { daysLater, longDate } from '../charts/time.ts'
import { Empty, Shown } from './states.tsx'

/** Days around an empty one that explain it. */
const AROUND = 32

interface WhyProps {
  user: Schemas['UserDetail']
  date: string
  /** Of one type; absent: of everything. */
  type?: string
  /** What is missing, in a sentence. */
  what: string
}

/** Why nothing is shown for a day, and where to go. */
export function Why({ user, date, type, what }: WhyProps) {
  const coverage = useQuery(`coverage ${user.id} ${date}`, (signal) =>
    readCoverage(user.id, [daysLater(date, -AROUND), daysLater(date, AROUND)], signal),
  )
  return (
    <Empty>
      <p>
        <strong>{what}</strong>
      </p>
      <Shown query={coverage} what="why">
        {(known) => {
          // A night may have begun on the evening before.
          const found = reasonOf(known, user, date, type)
          const newest = lastDayOf(known)
          return (
            <>
              <p data-finding={found.kind} dir="auto">
                {found.text} <Next user={user} date={date} finding={found} />
              </p>
              <p>
                <a href={`/console/people/${user.id}/data?day=${date}`}>What arrived around this day</a>
                {newest && newest !== date && (
                  <>
                    {' · '}
                    <a href={`/console/people/${user.id}/day/${newest}`}>Newest day with data, {longDate(newest)}</a>
                  </>
                )}
              </p>
            </>
          )
        }}
      </Shown>
    </Empty>
  )
}

const SPECIFIC = ['rejected', 'deleted']

/** The finding of a date; of sleep also that of the evening before, where it says more. */
function reasonOf(known: Coverage, user: Schemas['UserDetail'], date: string, type: string | undefined): Finding {
  const found = whyEmpty(known, { user, date, ...(type && { type }) })
  if (type !== 'sleep' || SPECIFIC.includes(found.kind)) return found
  const evening = whyEmpty(known, { user, date: daysLater(date, -1), type })
  return SPECIFIC.includes(evening.kind) ? evening : found
}

const lastDayOf = ({ answer: { providers = [] } }: Coverage): string | undefined =>
  providers
    .flatMap(({ last_day }) => last_day ?? [])
    .sort()
    .at(-1)

/** Where a finding leads. */
export function Next({ user, date, finding }: { user: Schemas['UserDetail']; date: string; finding: Finding }) {
  const person = `/console/people/${user.id}`
  if (['never', 'after', 'silent'].includes(finding.kind)) return <a href={`${person}/connections`}>Connect again</a>
  if (['rejected', 'deleted', 'waiting', 'ignored', 'failed'].includes(finding.kind))
    return <a href={`${person}/connections`}>Uploads</a>
  if (finding.kind === 'archived') return <a href={`${person}/month/${date}`}>The month</a>
  if (finding.kind !== 'others') return null
  return (
    <span>
      Permissions are on the phone: in Apple Health under Sharing and Apps, in Health Connect under App permissions.
    </span>
  )
}
