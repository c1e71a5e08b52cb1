import { MINUTE_MS, offsetAt } from '../zones.ts'

const two = (value: number) => String(value).padStart(2, '0')

/** A local date and time without a zone, to the second. */
export function localText(zone: string, ms: number): string {
  return wallText(ms, offsetAt(zone, ms))
}

/** The same by an offset in minutes. */
export function wallText(ms: number, offset: number): string {
  return new Date(ms + offset * MINUTE_MS).toISOString().slice(0, 19)
}

/** `PT7H2M30S`; parts that are zero are left out, but `PT0S`. */
export function durationText(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  const left = seconds - hours * 3600 - minutes * 60
  const text = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${left > 0 ? `${left}S` : ''}`
  return `PT${text || '0S'}`
}

/** The same length as Polar's devices write it: in parts, in minutes with a fraction of seconds, in seconds. */
export function deviceDuration(seconds: number, device: number): string {
  if (device % 3 === 0) return durationText(seconds)
  return device % 3 === 1 ? `PT${Math.floor(seconds / 60)}M${(seconds % 60).toFixed(3)}S` : `PT${seconds}S`
}

/** `HH:MM` of a time by an offset in minutes. */
export function clockText(ms: number, offset: number): string {
  const date = new Date(ms + offset * MINUTE_MS)
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`
}
