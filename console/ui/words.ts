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

/** A name of the API, such as resting_heart_rate, in words. */
export const words = (name: string): string => {
  const text = name
    .replace(/^heart_rate_variability_(.*)/, (_, kind: string) => `HRV (${kind.toUpperCase()})`)
    .replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** A number without decimals. */
export const count = (value: number): string => whole.format(value)
