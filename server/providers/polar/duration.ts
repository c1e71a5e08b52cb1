// Polar writes lengths of time as ISO 8601 durations, with any of their parts: PT52M0.4S, PT2H, P1DT1M.
const DURATION = /^P(?:(\d{1,6})D)?(?:T(?=\d)(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9}(?:[.,]\d{1,9})?)S)?)?$/

/** Seconds of an ISO 8601 duration of days, hours, minutes and seconds; undefined for anything else. */
export function durationSeconds(text: string | undefined): number | undefined {
  const parts = DURATION.exec(text?.trim() ?? '')
  if (!parts || parts.slice(1).every((part) => part === undefined)) return undefined
  const [days, hours, minutes, seconds] = parts.slice(1).map((part) => Number((part ?? '0').replace(',', '.')))
  return (((days as number) * 24 + (hours as number)) * 60 + (minutes as number)) * 60 + (seconds as number)
}
