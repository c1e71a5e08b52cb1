const UNITS: Readonly<Record<string, string>> = {
  count: '',
  percent: '%',
  celsius: '°C',
  brpm: '/ min',
  kg_m2: 'kg/m²',
  m_per_s: 'm/s',
}

/** A unit of the API as people write it. */
export const unitName = (unit: string): string => UNITS[unit] ?? unit.replaceAll('_', '/')

/** Names that are written in a way of their own. */
const NAMES: Readonly<Record<string, string>> = {
  health_connect: 'Health Connect',
  bp_monitor: 'Blood pressure monitor',
  hr_sensor: 'Heart rate sensor',
  vo2_max: 'VO₂ max',
  body_mass_index: 'BMI',
}

/** A name of the API, such as resting_heart_rate, in words. */
export const words = (name: string): string => {
  const own = NAMES[name]
  if (own) return own
  const text = name
    .replace(/^heart_rate_variability_(.*)/, (_, kind: string) => `HRV (${kind.toUpperCase()})`)
    .replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** A number without decimals. */
export const count = (value: number): string => whole.format(value)

const REASONS: Readonly<Record<string, string>> = {
  missing: 'no value',
  float_parsing: 'not a number',
  datetime_parsing: 'a time that cannot be read',
  implausible_timestamp: 'a time that cannot be',
  implausible_value: 'a value that cannot be',
  unit: 'a unit that does not fit',
  archived: 'older than what is kept',
}

/** Why an item was not stored, in words. */
export const reasonName = (reason: string): string => REASONS[reason] ?? reason.replaceAll('_', ' ')
