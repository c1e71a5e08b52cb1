/** The views of a person, which the browser loads as one file once the list of people is there. */
import './shared.ts'

export { Connections } from './screens/connections.tsx'
export { Data } from './screens/data.tsx'
export { Day } from './screens/day.tsx'
export { Events } from './screens/events.tsx'
export { Explore } from './screens/explore.tsx'
export { Night } from './screens/night.tsx'
export { Period } from './screens/period.tsx'
export { Sources } from './screens/sources.tsx'
