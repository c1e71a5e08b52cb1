import fc from 'fast-check'
import t from 'tap'
import { convertUnit, withoutNoise } from '../../server/batch/units.ts'
import { seriesTypes } from '../../server/catalogue/series.ts'

// sdk-types 1.1, written out: from, to, one of it.
const factors: readonly (readonly [from: string, to: string, factor: number])[] = [
  ['kJ', 'kcal', 1 / 4.184],
  ['J', 'kcal', 1 / 4184],
  ['cal', 'kcal', 0.001],
  ['km', 'meters', 1000],
  ['mi', 'meters', 1609.344],
  ['yd', 'meters', 0.9144],
  ['ft', 'meters', 0.3048],
  ['in', 'meters', 0.0254],
  ['cm', 'meters', 0.01],
  ['mm', 'meters', 0.001],
  ['m', 'cm', 100],
  ['mm', 'cm', 0.1],
  ['in', 'cm', 2.54],
  ['ft', 'cm', 30.48],
  ['lb', 'kg', 0.45359237],
  ['lbs', 'kg', 0.45359237],
  ['st', 'kg', 6.35029318],
  ['oz', 'kg', 0.028349523125],
  ['g', 'kg', 0.001],
  ['kg', 'g', 1000],
  ['mg', 'g', 0.001],
  ['mcg', 'g', 0.000001],
  ['g', 'mg', 1000],
  ['mcg', 'mg', 0.001],
  ['\u00b5g', 'mg', 0.001],
  ['\u03bcg', 'mg', 0.001],
  ['ug', 'mg', 0.001],
  ['mg', 'mcg', 1000],
  ['g', 'mcg', 1_000_000],
  ['km/hr', 'm_per_s', 1 / 3.6],
  ['mi/hr', 'm_per_s', 0.44704],
  ['ft/s', 'm_per_s', 0.3048],
  ['L', 'mL', 1000],
  ['l', 'mL', 1000],
  ['liter', 'mL', 1000],
  ['liters', 'mL', 1000],
  ['litre', 'mL', 1000],
  ['litres', 'mL', 1000],
  ['fl_oz_us', 'mL', 29.5735295625],
  ['fl_oz_imp', 'mL', 28.4130625],
  ['cup_us', 'mL', 236.5882365],
  ['cup_imp', 'mL', 284.130625],
  ['pt_us', 'mL', 473.176473],
  ['pt_imp', 'mL', 568.26125],
  ['mL', 'liters', 0.001],
  ['kPa', 'mmHg', 7.500616827],
  ['cmAq', 'mmHg', 0.735559],
  ['inHg', 'mmHg', 25.4],
  ['hr', 'minutes', 60],
  ['s', 'minutes', 1 / 60],
  ['ms', 'minutes', 1 / 60_000],
  ['s', 'ms', 1000],
  ['ms', 's', 0.001],
  ['min', 's', 60],
  ['count/s', 'bpm', 60],
  ['Hz', 'bpm', 60],
  ['count/s', 'brpm', 60],
  ['count/s', 'rpm', 60],
  ['mmol/L', 'mg_dl', 18.0182],
  ['MMOL/L', 'mg_dl', 18.0182],
  ['mmol<180.1558800000541>/L', 'mg_dl', 18.0182],
  ['mmol', 'mg_dl', 18.0182],
  ['fraction', 'percent', 100],
]

// Other spellings of the same unit.
const spellings: readonly (readonly [from: string, to: string])[] = [
  ['Cal', 'kcal'],
  ['CAL', 'kcal'],
  ['KCAL', 'kcal'],
  ['kCal', 'kcal'],
  ['m', 'meters'],
  ['M', 'meters'],
  ['mg/dL', 'mg_dl'],
  ['mg/dl', 'mg_dl'],
  ['%', 'percent'],
  ['degC', 'celsius'],
  ['°C', 'celsius'],
  ['celsius', 'celsius'],
  ['min', 'minutes'],
  ['m/s', 'm_per_s'],
  ['L', 'liters'],
  ['W', 'watts'],
  ['kg/m²', 'kg_m2'],
  ['count', 'kg_m2'],
  ['mL/kg/min', 'ml_kg_min'],
  ['mL/min·kg', 'ml_kg_min'],
  ['breaths/min', 'brpm'],
  ['count/min', 'bpm'],
  ['count/min', 'brpm'],
  ['count/min', 'rpm'],
  ['spm', 'rpm'],
  ['dBASPL', 'dB'],
  ['kcal/hr/kg', 'score'],
  ['kcal/kg/hr', 'met'],
  ['appleEffortScore', 'score'],
  ['IU', 'count'],
  [' kg ', 'kg'],
  ['\u00b5g', 'mcg'],
  ['ML', 'mL'],
  ['steps', 'count'],
  ['floors', 'count'],
  ['kilograms', 'kg'],
  ['kilocalories', 'kcal'],
]

t.test('values are converted by the factors of sdk-types 1.1', async (t) => {
  for (const [from, to, factor] of factors) {
    fc.assert(
      fc.property(fc.double({ min: -100_000, max: 100_000, noNaN: true }), (value) => {
        const expected = value * factor
        return Math.abs(convertUnit(value, from, to)! - expected) <= 1e-9 + Math.abs(expected) * 1e-12
      }),
    )
    t.ok(Math.abs(convertUnit(1, from, to)! - factor) <= 1e-9, `${from} to ${to}`)
  }
})

t.test('temperatures are moved to the zero of Celsius', async (t) => {
  t.equal(convertUnit(32, 'degF', 'celsius'), 0)
  t.equal(convertUnit(98.6, 'degF', 'celsius'), 37)
  t.equal(convertUnit(-40, '°F', 'celsius'), -40)
  t.equal(convertUnit(310.15, 'K', 'celsius'), 37)
})

t.test('another spelling of the unit leaves the value alone to the last bit', async (t) => {
  for (const [from, to] of spellings) {
    fc.assert(fc.property(fc.double(), (value) => Object.is(convertUnit(value, from, to), value)))
    t.equal(convertUnit(48.26113, from, to), 48.26113, `${from} is ${to}`)
  }
})

t.test('a quotient by two units is the same in every order and notation, and no other quotient is', async (t) => {
  const notations = (top: string, a: string, b: string) =>
    ['*', '\u00b7', '\u22c5', '.'].flatMap((times) =>
      [[a, b] as const, [b, a] as const].flatMap(([one, two]) =>
        [`${top}/${one}/${two}`, `${top}/${one}${times}${two}`, `${top}/(${one}${times}${two})`].flatMap((text) => [
          text,
          text.toUpperCase(),
          ` ${text.replaceAll(times, ` ${times} `)}`,
        ]),
      ),
    )
  const quotients: [to: string, spellings: string[]][] = [
    ['ml_kg_min', notations('mL', 'kg', 'min')],
    ['score', [...notations('kcal', 'kg', 'hr'), ...notations('kcal', 'kg', 'h')]],
    ['met', [...notations('kcal', 'kg', 'hr'), ...notations('kcal', 'kg', 'h')]],
  ]
  const every = new Set(quotients.flatMap(([, spellings]) => spellings))
  const units = ['ml', 'l', 'kg', 'g', 'lb', 'min', 'hr', 'h', 's', 'ms', 'm', 'kcal', 'cal', 'count', 'mg', 'dl']
  for (const top of units)
    for (const a of units) for (const b of units) for (const text of notations(top, a, b)) every.add(text)
  for (const target of new Set(seriesTypes.map(({ unit }) => unit))) {
    const known = new Set(quotients.find(([to]) => to === target)?.[1].map((text) => text.toLowerCase()))
    const wrong = [...every].filter(
      (text) => convertUnit(41.25, text, target) !== (known.has(text.toLowerCase()) ? 41.25 : undefined),
    )
    t.strictSame(wrong, [], target)
  }
  for (const text of ['mL/(kg/min)', 'mL*kg/min', 'mL/kg·min)', '(mL/kg·min', 'mL/kg', 'mL/kgmin', 'mL/kg/min/min'])
    t.equal(convertUnit(1, text, 'ml_kg_min'), undefined, text)
})

t.test('a missing unit, or the unit itself, leaves the value alone whatever the target', async (t) => {
  const changed = seriesTypes.flatMap(({ unit }) =>
    [null, undefined, '', unit].flatMap((from) =>
      convertUnit(0.1 + 0.2, from, unit) === 0.1 + 0.2 ? [] : [[from, unit]],
    ),
  )
  t.strictSame(changed, [])
})

t.test('only the exact lower-case cal is the small calorie', async (t) => {
  t.equal(convertUnit(146_000, 'cal', 'kcal'), 146)
  t.equal(convertUnit(146, 'Cal', 'kcal'), 146)
  t.equal(convertUnit(146, 'CAL', 'kcal'), 146)
})

t.test('a unit of another dimension, or of none, is undefined', async (t) => {
  const strange = [
    ['kg', 'kcal'],
    ['m', 'celsius'],
    ['smoots', 'meters'],
    ['   ', 'kg'],
    ['mmol/L', 'mg'],
    ['constructor', 'kg'],
    ['__proto__', 'count'],
    ['m', 'parsecs'],
  ] as const
  for (const [from, to] of strange) t.equal(convertUnit(5, from, to), undefined, `${from} to ${to}`)
})

t.test('converted values carry no binary noise, and big ones stay whole', async (t) => {
  t.equal(convertUnit(1.106, 'm', 'cm'), 110.6)
  t.equal(convertUnit(0.07, 'fraction', 'percent'), 7)
  t.equal(convertUnit(5.38, 'mmol/L', 'mg_dl'), 96.937916)
  t.equal(convertUnit(123_456.789, 'km', 'meters'), 123_456_789)
  t.equal(convertUnit(Number.POSITIVE_INFINITY, 'km', 'meters'), Number.POSITIVE_INFINITY)
  t.ok(Number.isNaN(convertUnit(Number.NaN, 'km', 'meters')))
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (value) => {
      const change = Math.abs(withoutNoise(value) - value)
      return Number.isNaN(change) || change <= 1e-9
    }),
  )
})
