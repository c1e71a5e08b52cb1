/** Garmin's summary types, each a stream: the name in notices, then others that were seen for the same. */
export const summaryTypes: readonly (readonly [type: string, ...also: string[]])[] = [
  ['activities'],
  ['manuallyUpdatedActivities'],
  ['activityDetails'],
  ['moveIQActivities', 'moveiq'],
  ['dailies'],
  ['epochs'],
  ['sleeps'],
  ['bodyComps'],
  ['stressDetails'],
  ['userMetrics'],
  ['pulseox'],
  ['allDayRespiration', 'respiration'],
  ['healthSnapshot'],
  ['hrv'],
  ['bloodPressures'],
  ['skinTemp'],
  ['mct', 'menstrualCycleTracking'],
]

const byName: ReadonlyMap<string, string> = new Map(
  summaryTypes.flatMap(([type, ...also]) => [type, ...also].map((name) => [name.toLowerCase(), type] as const)),
)

/** The summary type that a field of a notice has, in any case; undefined: none that we read. */
export const typeNamed = (field: string): string | undefined => byName.get(field.toLowerCase())
