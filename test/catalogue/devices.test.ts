import fc from 'fast-check'
import t from 'tap'
import { appleModels, samsungModels } from '../../server/catalogue/device-models.ts'
import {
  deviceName,
  deviceTypeRanks,
  deviceTypes,
  inferDeviceType,
  normaliseDeviceString,
} from '../../server/catalogue/devices.ts'
import { normalised } from '../../server/text.ts'
import { anyCharacter } from '../support/text.ts'
import { runs } from '../support/thorough.ts'

t.test('the checked examples of sdk-payload 9.5 hold', async (t) => {
  const examples = [
    ['apple', 'Watch7,5', null, 'watch', 'watch', 'Apple Watch Ultra 2'],
    ['apple', 'iPhone17,1', null, 'phone', 'phone', 'iPhone 16 Pro'],
    ['samsung', 'SM-L315F', 'Galaxy Watch7', 'phone', 'watch', 'Galaxy Watch7 44mm LTE'],
    ['samsung', 'SM-S918B', null, 'phone', 'phone', 'Galaxy S23 Ultra'],
    ['health_connect', 'Pixel Watch 3', null, 'watch', 'watch', 'Pixel Watch 3'],
    ['health_connect', null, 'com.onepeloton.callisto', 'unknown', 'unknown', null],
    ['health_connect', 'Body+', null, 'scale', 'scale', 'Body+'],
  ] as const
  for (const [provider, model, sourceName, reported, type, name] of examples) {
    t.equal(inferDeviceType({ provider, model, sourceName, reported }), type, `${model}`)
    t.equal(deviceName(model), name, `${model}`)
  }
})

t.test('a model alone tells the kind of device', async (t) => {
  const models = [
    ['', 'unknown'],
    ['Unknown', 'unknown'],
    ['Watch6,18', 'watch'],
    ['iPhone16,2', 'phone'],
    ['iPad13,4', 'tablet'],
    ['iPod9,1', 'other'],
    ['SM-L505N', 'watch'],
    ['sm-q500', 'ring'],
    ['SM-S928U1', 'phone'],
    ['SM-A546B', 'phone'],
    ['SM-M146B', 'phone'],
    ['SM-G991B', 'phone'],
    ['SM-F946B', 'phone'],
    ['SM-N986U', 'phone'],
    ['SM-E426B', 'phone'],
    ['SM-X810', 'tablet'],
    ['SM-T870', 'tablet'],
    ['SM-P613', 'tablet'],
    ['SM-R870N', 'watch'],
    ['SM-R925F', 'watch'],
    ['SM-R390', 'band'],
    ['SM-R365', 'band'],
    ['SM-R630', 'headphones'],
    ['SM-R999', 'other'],
    ['SM-J530F', 'other'],
    ['Polar H10', 'chest_strap'],
    ['H9 Sensor', 'chest_strap'],
    ['H100', 'other'],
    ['HRM-Pro Plus', 'chest_strap'],
    ['Heart Rate Belt', 'chest_strap'],
    ['Polar Verity Sense', 'hr_sensor'],
    ['Polar OH1', 'hr_sensor'],
    ['AirPods Pro', 'headphones'],
    ['Suunto Wing 2', 'headphones'],
    ['Galaxy Buds2', 'headphones'],
    ['Index BPM', 'bp_monitor'],
    ['BPM Connect Pro', 'bp_monitor'],
    ['OMRON Evolv', 'bp_monitor'],
    ['Dexcom G7', 'glucose_meter'],
    ['FreeStyle Libre Sense', 'glucose_meter'],
    ['Contour Next One', 'glucose_meter'],
    ['Accu-Chek Guide', 'glucose_meter'],
    ['Thermo', 'thermometer'],
    ['Eight Sleep Pod 4', 'sleep_monitor'],
    ['Withings Sleep Analyzer', 'sleep_monitor'],
    ['Garmin Edge 1040', 'bike_computer'],
    ['Edge 530', 'bike_computer'],
    ['motorola edge 40', 'phone'],
    ['Moto 360', 'watch'],
    ['moto g84', 'phone'],
    ['Garmin vívosmart 5', 'band'],
    ['Charge 6', 'band'],
    ['Galaxy Fit3', 'band'],
    ['Polar Loop', 'band'],
    ['Polar 360', 'band'],
    ['Index Sleep Monitor', 'band'],
    ['RingConn Gen 2', 'ring'],
    ['Oura Ring Gen3', 'ring'],
    ['Galaxy Tab S9', 'tablet'],
    ['Pixel Tablet', 'tablet'],
    ['Pixel 9', 'phone'],
    ['Index S2', 'scale'],
    ['Body Cardio', 'scale'],
    ['eufy Smart', 'scale'],
    ['Forerunner 255', 'watch'],
    ['fēnix 8', 'watch'],
    ['Approach S70', 'watch'],
    ['vívoactive 5', 'watch'],
    ['Fitbit Versa 4', 'watch'],
    ['Vantage V3', 'watch'],
    ['Grit X2 Pro', 'watch'],
    ['Suunto 9 Peak', 'watch'],
    ['WHOOP 4.0', 'band'],
    ['COROS APEX 2', 'watch'],
    ['PACE 3', 'watch'],
    ['Tonal', 'other'],
  ] as const
  for (const [model, type] of models) {
    t.equal(inferDeviceType({ provider: 'health_connect', model }), type, `"${model}"`)
  }
})

t.test('the source name helps when the model says nothing', async (t) => {
  const sources = [
    [null, 'Ana’s Apple Watch', null, 'watch'],
    [null, 'AutoSleep', null, 'watch'],
    [null, 'Mi Band 8', null, 'band'],
    [null, 'Oura', null, 'ring'],
    ['Tonal', 'Zepp on my Amazfit Band 7', null, 'band'],
    ['Tonal', 'Strava', null, 'other'],
    [null, 'Strava', null, 'unknown'],
    ['iPhone17,1', 'Ana’s Apple Watch', null, 'phone'],
    [null, 'health_connect', null, 'unknown'],
  ] as const
  for (const [model, sourceName, reported, type] of sources) {
    t.equal(
      inferDeviceType({ provider: 'health_connect', model, sourceName, reported }),
      type,
      `${model} ${sourceName}`,
    )
  }
  t.equal(inferDeviceType({ provider: 'oura_like', model: null, sourceName: 'oura_like' }), 'unknown', 'its own slug')
})

t.test('the reported type wins unless it is vague and the model is not', async (t) => {
  const reports = [
    ['Tonal', 'watch', 'watch'],
    ['Pixel 9', 'watch', 'watch'],
    ['iPad13,4', 'phone', 'tablet'],
    ['SM-L315F', 'phone', 'watch'],
    ['dm3q', 'phone', 'phone'],
    ['Libre 3', 'consumer_medical_device', 'glucose_meter'],
    ['Tonal', 'meter', 'other'],
    [null, 'meter', 'other'],
    [null, 'fitness_band', 'band'],
    [null, 'Fitness_Band', 'band'],
    [null, 'hearable', 'headphones'],
    [null, 'fitness_equipment', 'fitness_machine'],
    [null, 'head_mounted', 'head_mounted'],
    [null, 'smart_display', 'smart_display'],
    [null, 'chest_strap', 'chest_strap'],
    [null, 'glasses', 'glasses'],
    [null, 'unknown', 'unknown'],
    [null, 'toaster', 'unknown'],
    ['Forerunner 255', 'unknown', 'watch'],
  ] as const
  for (const [model, reported, type] of reports) {
    t.equal(inferDeviceType({ provider: 'samsung', model, reported }), type, `${model} reported ${reported}`)
  }
})

t.test('providers with one kind of device need no hint', async (t) => {
  t.equal(inferDeviceType({ provider: 'oura', model: 'anything', reported: 'phone' }), 'ring')
  t.equal(inferDeviceType({ provider: 'ultrahuman' }), 'ring')
  t.equal(inferDeviceType({ provider: 'whoop' }), 'band')
  t.equal(inferDeviceType({ provider: 'suunto' }), 'watch')
  t.equal(inferDeviceType({ provider: 'suunto', model: 'Vertical' }), 'watch')
  t.equal(inferDeviceType({ provider: 'suunto', model: 'Suunto Wing' }), 'headphones')
})

t.test('device types are listed in order and ranked', async (t) => {
  t.equal(deviceTypes.length, 20)
  t.strictSame(
    deviceTypes.map((type) => deviceTypeRanks[type]),
    [1, 2, 4, 5, 3, 4, ...Array<number>(13).fill(6), 99],
  )
})

t.test('models have marketing names', async (t) => {
  const names = [
    ['Watch7,2', 'Apple Watch Series 9 45mm (GPS)'],
    ['iPhone15,2', 'iPhone 14 Pro'],
    ['iPad16,5', 'iPad Pro 12.9-inch 7th Gen'],
    ['iPhone15', 'iPhone15'],
    ['iphone15,2', 'iphone15,2'],
    ['SM-S918', 'Galaxy S23 Ultra'],
    ['SM-S9180', 'Galaxy S23 Ultra'],
    ['SM-A405FN', 'Galaxy A40'],
    ['SM-R960', 'Galaxy Watch6 Classic 47mm'],
    ['SM-R860', 'Galaxy Watch4 40mm'],
    ['SM-R875F', 'Galaxy Watch4 44mm'],
    ['SM-R810', 'Galaxy Watch 42mm'],
    ['SM-R500', 'Galaxy Watch Active'],
    ['SM-L300', 'Galaxy Watch7 40mm'],
    ['SM-L705F', 'Galaxy Watch Ultra'],
    ['SM-R390', 'Galaxy Fit3'],
    ['SM-Q510', 'Galaxy Ring 2'],
    ['SM-', 'SM-'],
    ['SM-Z999', 'SM-Z999'],
    ['Forerunner 255', 'Forerunner 255'],
    ['constructor', 'constructor'],
  ] as const
  for (const [model, name] of names) t.equal(deviceName(model), name, model)
  t.equal(deviceName(null), null)
  t.equal(deviceName(undefined), null)
  t.equal(deviceName(''), null)
  t.equal(Object.keys(appleModels).length, 166)
  t.ok(Object.keys(samsungModels).every((code) => /^SM-[A-Z]\d{3}$/.test(code)))
})

t.test('however many marks a text has, it is normalised in time proportional to them', async (t) => {
  // The last one is a mark only in NFKC.
  const marks = (most: number) => '\u0315\u0300'.repeat(most) + '\u0315\uff9e'.repeat(most)
  for (const form of ['NFC', 'NFKC'] as const) {
    for (const usual of ['fe\u0304nix', `a${marks(7)}b${marks(7)}`, '\uff76\uff9e', '\u1112\u1161\u11ab'])
      t.equal(normalised(usual, form), usual.normalize(form), usual)
    const long = normalised(`e${marks(500_000)}!`, form)
    t.match([long.length > 2_000_000, long.at(-1), normalised(long, form) === long], [true, '!', true])
  }
  t.equal(Array.from(normaliseDeviceString(`e${marks(500_000)}`, 100)).length, 100)
})

t.test('device strings are normalised for storage and comparison', async (t) => {
  t.equal(normaliseDeviceString('  Ana’s\t Apple\u00a0Watch \n', 100), 'Ana’s Apple Watch')
  t.equal(normaliseDeviceString('fe\u0304nix', 100), 'f\u0113nix')
  t.equal(normaliseDeviceString('a\u0000b\u001fc', 100), 'abc')
  t.equal(normaliseDeviceString('e\u0000\u0301', 100), '\u00e9')
  t.equal(normaliseDeviceString('a \u0000 b', 100), 'a b')
  t.equal(normaliseDeviceString('x\ud83dy\ude00z', 100), 'xyz')
  t.equal(normaliseDeviceString('\ud83d\u0000\ude00', 100), '')
  t.equal(normaliseDeviceString('😀😀😀', 2), '😀😀')
  t.equal(normaliseDeviceString('ab cd', 3), 'ab')
  t.equal(normaliseDeviceString('abcd', 0), '')
  for (const value of [null, undefined, 5, {}, ['x'], true]) t.equal(normaliseDeviceString(value, 10), '')
})

t.test('normalised device strings are clean, short and stable, whatever came in', async (t) => {
  const nasty = fc.string({
    unit: fc.oneof(anyCharacter, fc.constantFrom(...' \t\u0000\u001f\u0085\u2000\ufeffe\u0301😀', '\ud83d', '\ude00')),
    maxLength: 60,
  })
  const normalised = fc.property(nasty, fc.nat(40), (text, max) => {
    const clean = normaliseDeviceString(text, max)
    return (
      [...clean].length <= max &&
      !/[\p{Cc}\p{Cs}]/u.test(clean) &&
      !/\s\s/u.test(clean) &&
      clean === clean.trim() &&
      clean === clean.normalize('NFC') &&
      clean === normaliseDeviceString(clean, max) &&
      Buffer.from(clean, 'utf8').toString('utf8') === clean
    )
  })
  const empty = (value: unknown) => typeof value === 'string' || normaliseDeviceString(value, 10) === ''
  t.doesNotThrow(() => fc.assert(normalised, { numRuns: runs(300, 2_000) }))
  t.doesNotThrow(() => fc.assert(fc.property(fc.anything(), empty)))
})
