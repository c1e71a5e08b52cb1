/** The views of a person, which the browser loads as one file once the list of people is there. */
export { Day } from './screens/day.tsx'
export { Explore } from './screens/explore.tsx'
export { Night } from './screens/night.tsx'
export { Month, Year } from './screens/period.tsx'
