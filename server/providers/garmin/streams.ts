import { textAt } from '../answers.ts'
import type { ObjectKind, Stream } from '../provider.ts'
import { summaryTypes } from './types.ts'

/** Recorded by the second: asked for where an operator wants that. */
const DETAILS = 'activityDetails'

const workouts: ReadonlySet<string> = new Set(['activities', 'manuallyUpdatedActivities', DETAILS])

/** What Garmin sends. Nothing of it can be asked for by a span: the past is sent as notices, too. */
export const streams: readonly Stream[] = summaryTypes.map(([name]) => ({
  ...{ name, family: workouts.has(name) ? 'workouts' : '247' },
  ...{ windowDays: 1, historyDays: 0, overlapHours: 0, noticesOnly: true },
  first: () => null,
}))

/** The place of summaries in Garmin's API, behind whatever an operator put before it. */
const SUMMARIES = /^(?:\/[\w.-]+)*\/wellness-api\/rest\/\w{1,60}$/

/**
 * The address that a notice names for summaries, verbatim; undefined for any other. That it is Garmin's host is looked
 * at where it is asked: nothing is asked elsewhere, whatever a notice names.
 */
export function summariesAt(text: string | undefined): string | undefined {
  const url = text !== undefined && text.length <= 2_000 && URL.canParse(text) ? new URL(text) : undefined
  const isSound = url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash
  return isSound && SUMMARIES.test(url.pathname) ? text : undefined
}

/** The summaries of a type that a notice names by their address. It ends after a day: then they cannot be had any more. */
const named = (stream: string): ObjectKind => ({
  stream,
  request(args, { options }) {
    const path = summariesAt(textAt(args, 'url'))
    if (path === undefined) return null
    return stream === DETAILS && options.samples === true ? { path, args: { samples: true } } : { path }
  },
  missing: () => ({ lost: 'The address that Garmin named is no longer valid' }),
})

/** What notices name, by summary type. */
export const objects: Readonly<Record<string, ObjectKind>> = Object.fromEntries(
  streams.map(({ name }) => [name, named(name)]),
)
