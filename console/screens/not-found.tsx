import { useTitle } from '../ui/title.ts'

/** An address that shows nothing. */
export function NotFound() {
  useTitle('Not found')
  return (
    <>
      <h1>Nothing is here</h1>
      <p>
        This address shows nothing. <a href="/console/people">All people</a>
      </p>
    </>
  )
}
