import { useEffect, useState } from 'preact/hooks'
import { answered, api } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { lastDay } from '../api/reads.ts'
import { go } from '../router.ts'
import { Do, Problem } from '../ui/act.tsx'
import { Shown } from '../ui/states.tsx'

/** While something is done with it. */
const PACE_MS = 500

/** How the names of the invented people begin at other systems. */
const DEMO = 'demo:'

/** The demo data: adds it, and leads to the newest day of Ada Runner once that can be read; removes it. */
export function Demo({ changed = () => {} }: { changed?(): void }) {
  const [leading, lead] = useState(false)
  const query = useQuery(
    `demo ${leading}`,
    async (signal) => {
      const demo = await answered(api.GET('/api/v1/demo', { signal }))
      const ada = demo.people.find(({ external_user_id }) => external_user_id === `${DEMO}ada`)
      const day = leading && ada && (await lastDay(ada.user_id, signal))
      return { ...demo, path: day && `/people/${ada.user_id}/day/${day}` }
    },
    ({ state }) => (state.endsWith('ing') ? PACE_MS : 0),
  )
  const { state, path } = query.data ?? {}
  useEffect(() => {
    if (path) go(path)
    else if (state) changed()
  }, [path, state])
  const add = async () => {
    await answered(api.POST('/api/v1/demo'))
    lead(true)
  }
  const remove = async () => {
    await answered(api.DELETE('/api/v1/demo'))
    lead(false)
    query.again()
  }
  return (
    <Shown query={query} what="the demo data">
      {({ state, progress, people, error }) => (
        <>
          {progress !== null && <progress value={progress} aria-label={`Demo data: ${state}`} />}
          <p class="buttons">
            {state === 'absent' && (
              <Do main work={add}>
                Show demo data
              </Do>
            )}
            {people.length > 0 && state !== 'removing' && <Do work={remove}>Remove the demo data</Do>}
            {state === 'present' && <Do work={add}>Add what is new</Do>}
            <Problem text={error ?? undefined} />
          </p>
        </>
      )}
    </Shown>
  )
}
