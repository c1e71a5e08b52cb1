interface Linear {
  readonly factor: number
  readonly offset: number
}

// One entry per dimension: its units in the catalogue, then every size, in one common unit, with its spellings
// (sdk-types 1.1; as HealthKit, Health Connect, Samsung Health and the XML export write them). Spellings are looked up
// exactly, then folded, where the later of two equal ones wins.
type Dimension = readonly [targets: readonly string[], ...sizes: (readonly [size: number, ...spellings: string[]])[]]
const dimensions: readonly Dimension[] = [
  // `cal` in exactly these letters is the small calorie; `Cal`, and so `CAL`, is the kilocalorie.
  [
    ['kcal'],
    [0.001, 'cal'],
    [1, 'kcal', 'Cal', 'kilocalories'],
    [1 / 4.184, 'kJ', 'kilojoules'],
    [1 / 4184, 'J', 'joules'],
  ],
  [
    ['meters', 'cm'],
    [1, 'meters', 'm', 'meter', 'metre', 'metres'],
    [1000, 'km', 'kilometers', 'kilometres'],
    [0.01, 'cm', 'centimeters', 'centimetres'],
    [0.001, 'mm'],
    [1609.344, 'mi', 'mile', 'miles'],
    [0.9144, 'yd'],
    [0.3048, 'ft', 'foot', 'feet'],
    [0.0254, 'in', 'inch', 'inches'],
  ],
  [
    ['kg', 'g', 'mg', 'mcg'],
    [1000, 'kg', 'kilogram', 'kilograms'],
    [1, 'g', 'gram', 'grams'],
    [1e-3, 'mg', 'milligrams'],
    [1e-6, 'mcg', 'ug', '\u00b5g', '\u03bcg', 'micrograms'],
    [453.59237, 'lb', 'lbs', 'pound', 'pounds'],
    [6350.29318, 'st'],
    [28.349523125, 'oz'],
  ],
  [
    ['mL', 'liters'],
    [1, 'mL', 'milliliter', 'milliliters'],
    [1000, 'L', 'liters', 'liter', 'litre', 'litres'],
    [29.5735295625, 'fl_oz_us'],
    [28.4130625, 'fl_oz_imp'],
    [236.5882365, 'cup_us'],
    [284.130625, 'cup_imp'],
    [473.176473, 'pt_us'],
    [568.26125, 'pt_imp'],
  ],
  [
    ['m_per_s'],
    [1, 'm_per_s', 'm/s'],
    [1 / 3.6, 'km/hr', 'km/h', 'kmh', 'kph'],
    [0.44704, 'mi/hr', 'mph'],
    [0.3048, 'ft/s'],
  ],
  [['mmHg'], [1, 'mmHg'], [7.500616827, 'kPa'], [0.735559, 'cmAq'], [25.4, 'inHg']],
  [
    ['minutes', 's', 'ms'],
    [60, 'minutes', 'min', 'minute', 'mins'],
    [3600, 'hr', 'h', 'hour', 'hours', 'hrs'],
    [1, 's', 'sec', 'second', 'seconds'],
    [0.001, 'ms'],
  ],
  [
    ['bpm', 'brpm', 'rpm'],
    [1, 'bpm', 'brpm', 'rpm', 'spm', 'count/min', 'breaths/min', 'beats/min', 'steps/min', '1/min'],
    [60, 'count/s', 'Hz', '1/s'],
  ],
  [['mg_dl'], [1, 'mg_dl', 'mg/dL'], [18.0182, 'mmol/L']],
  [['percent'], [1, 'percent', '%'], [100, 'fraction']],
  [['kg_m2'], [1, 'kg_m2', 'kg/m²', 'kg/m2', 'kg/m^2', 'count']],
  [['ml_kg_min'], [1, 'ml_kg_min', 'mL/kg/min', 'mL/min·kg']],
  [['L/min'], [1, 'L/min'], [60, 'L/s'], [0.001, 'mL/min']],
  [['watts'], [1, 'watts', 'W'], [1000, 'kW']],
  [['dB'], [1, 'dB', 'dBASPL', 'dBHL']],
  [['met'], [1, 'met', 'kcal/hr/kg', 'kcal/hr·kg']],
  [['score'], [1, 'score', 'count', 'appleEffortScore', 'kcal/hr/kg', 'kcal/hr·kg']],
  // Insulin counts international units, electrodermal activity microsiemens (sdk-types 2).
  [
    ['count'],
    [1, 'count', 'counts', 'steps', 'step', 'floors', 'flights', 'times', 'IU', 'mcS', 'uS', '\u00b5S', '\u03bcS'],
  ],
  [['degrees'], [1, 'degrees', 'deg', '°']],
  [['years'], [1, 'years', 'yr']],
]

const unchanged: Linear = { factor: 1, offset: 0 }

// Temperatures also differ in their zero.
const fahrenheit: Linear = { factor: 5 / 9, offset: -160 / 9 }
const kelvin: Linear = { factor: 1, offset: -273.15 }
const celsius: readonly (readonly [spelling: string, Linear])[] = [
  ...['celsius', 'degC', '°C', 'C'].map((spelling) => [spelling, unchanged] as const),
  ...['fahrenheit', 'degF', '°F', 'F'].map((spelling) => [spelling, fahrenheit] as const),
  ...['kelvin', 'K'].map((spelling) => [spelling, kelvin] as const),
]

// Target unit → spelling → conversion, precomputed, so that a conversion is two look-ups without allocation.
const exact = new Map<string, ReadonlyMap<string, Linear>>([['celsius', new Map(celsius)]])
for (const [targets, ...sizes] of dimensions) {
  for (const to of targets) {
    const [toSize] = sizes.find(([, ...spellings]) => spellings.includes(to))!
    const linear = ([size, ...spellings]: readonly [number, ...string[]]) => {
      const conversion = size === toSize ? unchanged : { factor: size / toSize, offset: 0 }
      return spellings.map((spelling) => [spelling, conversion] as const)
    }
    exact.set(to, new Map(sizes.flatMap(linear)))
  }
}

/** A unit divided by two others, with or without parentheses. */
const QUOTIENT = /^([a-z]+)\/(?:([a-z]+)[/*.\u00b7\u22c5]([a-z]+)|\(([a-z]+)[*.\u00b7\u22c5]([a-z]+)\))$/

/** A spelling in lower case; quotients by two units are alike however they are written: mL/kg·min, ml/(min*kg). */
function folded(spelling: string): string {
  const lower = spelling.trim().toLowerCase()
  const [, top, ...parts] = QUOTIENT.exec(lower.replaceAll(' ', '')) ?? []
  if (top === undefined) return lower
  const divisors = parts.flatMap((part) => (part === undefined ? [] : part === 'hr' ? 'h' : part))
  return [top, ...divisors.sort()].join('/')
}

const loose: ReadonlyMap<string, ReadonlyMap<string, Linear>> = new Map(
  [...exact].map(([to, units]) => [to, new Map([...units].map(([from, linear]) => [folded(from), linear]))]),
)

/**
 * A value in a sender's unit, converted to a unit of the catalogue (contract 2.6); unchanged when no unit was given,
 * undefined when the unit is unknown or of another dimension.
 */
export function convertUnit(value: number, from: string | null | undefined, to: string): number | undefined {
  if (from === null || from === undefined || from === '' || from === to) return value
  const linear = exact.get(to)?.get(from) ?? looseMatch(from, to)
  if (linear === undefined) return undefined
  if (linear === unchanged) return value
  return withoutNoise(value * linear.factor + linear.offset)
}

function looseMatch(from: string, to: string): Linear | undefined {
  const trimmed = from.trim()
  const name = folded(trimmed)
  // The XML export writes the molar mass into the unit: mmol<180.1558800000541>/L.
  const key = to === 'mg_dl' && name.startsWith('mmol') ? 'mmol/l' : name
  return exact.get(to)?.get(trimmed) ?? loose.get(to)?.get(key)
}

/**
 * A converted value without the binary noise of the arithmetic (110.60000000000001 → 110.6): nine decimals, in any
 * unit. Values beyond 1e6 stay unchanged, since nine decimals of them would not fit a double.
 */
export function withoutNoise(value: number): number {
  return Math.abs(value) < 1e6 ? Math.round(value * 1e9) / 1e9 : value
}
