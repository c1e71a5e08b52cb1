// Phones as released mobile SDKs behave: their requests, and how they handle every answer. Based on their public
// sources (iOS 0.6.0, Android 0.11.0) and change logs (iOS to 0.15.0, Android to 0.13.0); docs/phones.md describes
// them.
import { randomUUID } from 'node:crypto'

/** A release of an SDK, by its differences on the wire. */
export interface Release {
  name: string
  /** The platform as its uploads name it. */
  provider: 'apple' | 'google' | 'samsung'
  /** Puts `Bearer` before a token without it; otherwise sends tokens as given, and renewed ones bare. */
  addsBearer: boolean
  /** Sends bodies in chunks of unknown length. */
  chunked: boolean
  /** The fate of data after a 4xx other than 401: it counts as sent, or is sent again. */
  on4xx: 'lost' | 'kept'
  /** Whether an answer to a renewal, other than 2xx, signs the user out; otherwise it is retried later. */
  signsOut(status: number): boolean
  /** Sends a request id and its own name; repeats an upload under the same id. */
  namesRequests: boolean
  userAgent: string
  /** Where it uploads to, unless to `sync`. */
  uploadsTo?: string
}

const always = () => true
const rejected = (status: number) => status >= 401 && status <= 403
const ios = { provider: 'apple', chunked: false, userAgent: 'Pulse/1 CFNetwork/1568.200.51 Darwin/24.1.0' } as const
const android = { chunked: false, on4xx: 'kept', namesRequests: false, userAgent: 'okhttp/4.12.0' } as const

/** One of each kind: a release between two of them behaves like the earlier one. */
export const RELEASES: readonly Release[] = [
  {
    ...{ ...ios, name: 'iOS 0.3.0', addsBearer: false, on4xx: 'lost', signsOut: always, namesRequests: false },
    uploadsTo: 'sync/apple',
  },
  { ...ios, name: 'iOS 0.6.0', addsBearer: false, on4xx: 'lost', signsOut: always, namesRequests: false },
  { ...ios, name: 'iOS 0.13.0', addsBearer: true, on4xx: 'lost', signsOut: rejected, namesRequests: false },
  { ...ios, name: 'iOS 0.15.0', addsBearer: true, on4xx: 'kept', signsOut: rejected, namesRequests: true },
  { ...android, name: 'Android 0.6.0', provider: 'samsung', addsBearer: false, signsOut: always },
  { ...android, name: 'Android 0.11.0', provider: 'google', addsBearer: true, chunked: true, signsOut: rejected },
  { ...android, name: 'Android 0.13.0', provider: 'google', addsBearer: true, signsOut: rejected },
]

/** An app's credentials for its SDK: both tokens, or an API key. */
export interface SignIn {
  userId: string
  accessToken?: string
  refreshToken?: string
  apiKey?: string
}

interface Reply {
  status: number
  body: Record<string, unknown>
}

/**
 * The fate of a round of data: stored by the service, kept on the phone to be sent again, or wrongly marked as sent.
 */
export type Fate = 'delivered' | 'kept' | 'lost'

/** A phone with a signed-in SDK. */
export interface SdkPhone {
  /** Sends one round of data; renews the access token when the service asks for it. */
  upload(body: string): Promise<Fate>
  /** Reports the progress of an export; the SDK only logs the answer. */
  log(body: string): Promise<Reply>
  /** Disconnects as the SDK does when it signs out; it ignores the answer. */
  disconnect(): Promise<number>
  /** How often the app was asked to sign its user in again. */
  authErrors(): number
  /** Every request so far with its answer, such as `POST …/sync 202`. */
  requests: string[]
}

/** Signs a phone of this release in to the service at this address, with or without a slash at the end. */
export function signIn(release: Release, host: string, { userId, ...given }: SignIn): SdkPhone {
  const base = `${host.replace(/\/$/, '')}/api/v1`
  const held = { ...given }
  const requests: string[] = []
  let authErrors = 0

  const credential = (): Record<string, string> => {
    const { accessToken, apiKey = '' } = held
    if (accessToken === undefined) return { 'X-Open-Wearables-API-Key': apiKey }
    const bare = release.addsBearer && !accessToken.startsWith('Bearer ')
    return { Authorization: bare ? `Bearer ${accessToken}` : accessToken }
  }

  async function send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Reply> {
    const bytes = body === undefined ? undefined : Buffer.from(body)
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { 'User-Agent': release.userAgent, Accept: '*/*', ...headers },
      ...(bytes && (release.chunked ? { body: new Blob([bytes]).stream(), duplex: 'half' } : { body: bytes })),
    } as RequestInit)
    const text = await response.text()
    requests.push(`${method} ${path.replace(userId, '{id}')} ${response.status}`)
    return { status: response.status, body: text ? JSON.parse(text) : {} }
  }

  const json = { 'Content-Type': 'application/json' }

  async function renew(): Promise<boolean> {
    const { status, body } = await send(
      'POST',
      '/token/refresh',
      json,
      JSON.stringify({ refresh_token: held.refreshToken }),
    )
    if (status >= 200 && status < 300 && typeof body.access_token === 'string') {
      held.accessToken = body.access_token
      if (typeof body.refresh_token === 'string') held.refreshToken = body.refresh_token
      return true
    }
    if (release.signsOut(status)) authErrors += 1
    return false
  }

  async function upload(body: string): Promise<Fate> {
    const names = release.namesRequests
      ? {
          'X-Request-Id': randomUUID().toUpperCase(),
          'X-Open-Wearables-SDK-Version': '0.15.0',
          'X-Open-Wearables-SDK-Platform': 'ios',
        }
      : {}
    const post = async () =>
      (
        await send(
          'POST',
          `/sdk/users/${userId}/${release.uploadsTo ?? 'sync'}`,
          { ...json, ...names, ...credential() },
          body,
        )
      ).status
    let status = await post()
    if (status === 401) {
      if (held.accessToken === undefined) {
        authErrors += 1
        return 'kept'
      }
      if (!(await renew())) return 'kept'
      status = await post()
      if (status >= 200 && status < 300) return 'delivered'
      if (release.signsOut(status)) authErrors += 1
      return 'kept'
    }
    if (status >= 200 && status < 300) return 'delivered'
    return status < 500 ? release.on4xx : 'kept'
  }

  return {
    upload,
    log: (body) => send('POST', `/sdk/users/${userId}/logs`, { ...json, ...credential() }, body),
    disconnect: async () =>
      (await send('DELETE', `/users/${userId}/connections/${release.provider}`, credential())).status,
    authErrors: () => authErrors,
    requests,
  }
}

/** JSON as Foundation writes it: slashes are escaped. */
const foundationJson = (value: unknown) => JSON.stringify(value).replaceAll('/', '\\/')

/** JSON as Android's JsonWriter writes values: always with a decimal point. */
const androidJson = (value: unknown) => JSON.stringify(value).replaceAll(/("value":-?\d+)(?=[,}])/g, '$1.0')

/** A type of record as an SDK sends it, with its stored form: a sample, a kind of event, or none. */
export type SentRecord = readonly [
  type: string,
  value: number,
  unit: string | null,
  stored: readonly [series: string, value: number] | 'activity' | 'menstrual_cycle' | null,
]

const QUANTITY = 'HKQuantityTypeIdentifier'
const CATEGORY = 'HKCategoryTypeIdentifier'

/** Every type that iOS 0.6.0 may send as a record, with its unit text. Percentages are fractions, except oxygen. */
export const IOS_RECORDS: readonly SentRecord[] = [
  [`${QUANTITY}StepCount`, 412, 'count', ['steps', 412]],
  [`${QUANTITY}DistanceWalkingRunning`, 1234.5, 'm', ['distance_walking_running', 1234.5]],
  [`${QUANTITY}DistanceCycling`, 5210, 'm', ['distance_cycling', 5210]],
  [`${QUANTITY}FlightsClimbed`, 3, 'count', ['flights_climbed', 3]],
  [`${QUANTITY}WalkingSpeed`, 1.31, 'm/s', ['walking_speed', 1.31]],
  [`${QUANTITY}WalkingStepLength`, 0.71, 'm', ['walking_step_length', 71]],
  [`${QUANTITY}WalkingAsymmetryPercentage`, 0.032, '%', ['walking_asymmetry_percentage', 3.2]],
  [`${QUANTITY}WalkingDoubleSupportPercentage`, 0.287, '%', ['walking_double_support_percentage', 28.7]],
  [`${QUANTITY}SixMinuteWalkTestDistance`, 500, 'm', ['six_minute_walk_test_distance', 500]],
  [`${QUANTITY}ActiveEnergyBurned`, 21.734, 'Cal', ['energy', 21.734]],
  [`${QUANTITY}BasalEnergyBurned`, 18.2, 'Cal', ['basal_energy', 18.2]],
  [`${QUANTITY}HeartRate`, 61, 'bpm', ['heart_rate', 61]],
  [`${QUANTITY}RestingHeartRate`, 52, 'bpm', ['resting_heart_rate', 52]],
  [`${QUANTITY}HeartRateVariabilitySDNN`, 48.26113, 'ms', ['heart_rate_variability_sdnn', 48.26113]],
  [`${QUANTITY}VO2Max`, 46, 'mL/kg/min', ['vo2_max', 46]],
  [`${QUANTITY}OxygenSaturation`, 97, '%', ['oxygen_saturation', 97]],
  [`${QUANTITY}RespiratoryRate`, 14.5, 'breaths/min', ['respiratory_rate', 14.5]],
  [`${QUANTITY}BodyMass`, 81.2, 'kg', ['weight', 81.2]],
  [`${QUANTITY}Height`, 1.68, 'm', ['height', 168]],
  [`${QUANTITY}BodyMassIndex`, 24.1, 'kg/m²', ['body_mass_index', 24.1]],
  [`${QUANTITY}BodyFatPercentage`, 0.243, '%', ['body_fat_percentage', 24.3]],
  [`${QUANTITY}LeanBodyMass`, 61.5, 'kg', ['lean_body_mass', 61.5]],
  [`${QUANTITY}WaistCircumference`, 0.84, 'm', ['waist_circumference', 84]],
  [`${QUANTITY}BodyTemperature`, 36.62, 'degC', ['body_temperature', 36.62]],
  [`${QUANTITY}BloodGlucose`, 98, 'mg/dL', ['blood_glucose', 98]],
  [`${QUANTITY}InsulinDelivery`, 2.5, 'IU', ['insulin_delivery', 2.5]],
  [`${QUANTITY}BloodPressureSystolic`, 121, 'mmHg', ['blood_pressure_systolic', 121]],
  [`${QUANTITY}BloodPressureDiastolic`, 79, 'mmHg', ['blood_pressure_diastolic', 79]],
  [`${QUANTITY}DietaryEnergyConsumed`, 412, 'Cal', ['dietary_energy_consumed', 412]],
  [`${QUANTITY}DietaryCarbohydrates`, 41, 'g', ['dietary_carbohydrates', 41]],
  [`${QUANTITY}DietaryProtein`, 23, 'g', ['dietary_protein', 23]],
  [`${QUANTITY}DietaryFatTotal`, 7.9, 'g', ['dietary_fat_total', 7.9]],
  [`${QUANTITY}DietaryWater`, 0.35, 'L', ['hydration', 350]],
  [`${CATEGORY}MindfulSession`, 0, null, 'activity'],
  [`${CATEGORY}MenstrualFlow`, 2, null, 'menstrual_cycle'],
  [`${CATEGORY}CervicalMucusQuality`, 3, null, 'menstrual_cycle'],
  [`${CATEGORY}OvulationTestResult`, 2, null, 'menstrual_cycle'],
  [`${CATEGORY}SexualActivity`, 0, null, null],
]

/** Every type that Android 0.11.0 may send from Health Connect. */
export const HEALTH_CONNECT_RECORDS: readonly SentRecord[] = [
  ['STEP_COUNT', 412, 'count', ['steps', 412]],
  ['HEART_RATE', 61, 'bpm', ['heart_rate', 61]],
  ['RESTING_HEART_RATE', 52, 'bpm', ['resting_heart_rate', 52]],
  ['HEART_RATE_VARIABILITY', 48.26113, 'ms', ['heart_rate_variability_rmssd', 48.26113]],
  ['OXYGEN_SATURATION', 96.5, '%', ['oxygen_saturation', 96.5]],
  ['BLOOD_PRESSURE_SYSTOLIC', 121, 'mmHg', ['blood_pressure_systolic', 121]],
  ['BLOOD_PRESSURE_DIASTOLIC', 79, 'mmHg', ['blood_pressure_diastolic', 79]],
  ['BLOOD_GLUCOSE', 5, 'mmol/L', ['blood_glucose', 90.091]],
  ['ACTIVE_CALORIES_BURNED', 21.734, 'kcal', ['energy', 21.734]],
  ['BASAL_METABOLIC_RATE', 1620, 'kcal/day', ['basal_energy', 1620]],
  ['BODY_TEMPERATURE', 36.62, '°C', ['body_temperature', 36.62]],
  ['WEIGHT', 81.2, 'kg', ['weight', 81.2]],
  ['HEIGHT', 1.68, 'm', ['height', 168]],
  ['BODY_FAT', 24.3, '%', ['body_fat_percentage', 24.3]],
  ['LEAN_BODY_MASS', 61.5, 'kg', ['lean_body_mass', 61.5]],
  ['FLOORS_CLIMBED', 3, 'count', ['flights_climbed', 3]],
  ['DISTANCE', 1234.5, 'm', ['distance_walking_running', 1234.5]],
  ['HYDRATION', 350, 'mL', ['hydration', 350]],
  ['RESPIRATORY_RATE', 14.5, 'breaths/min', ['respiratory_rate', 14.5]],
  ['VO2_MAX', 46, 'mL/kg/min', ['vo2_max', 46]],
]

/** Every type that Android 0.11.0 may send from Samsung Health. */
export const SAMSUNG_RECORDS: readonly SentRecord[] = [
  ...HEALTH_CONNECT_RECORDS.filter(([type]) =>
    /^(HEART_RATE|STEP_COUNT|OXYGEN_|BLOOD_|BODY_|FLOORS_|WEIGHT|HEIGHT|LEAN_|BASAL_|HYDRATION|ACTIVE_)/.test(type),
  ).filter(([type]) => type !== 'HEART_RATE_VARIABILITY'),
  ['BODY_FAT_MASS', 19.7, 'kg', ['body_fat_mass', 19.7]],
  ['SKELETAL_MUSCLE_MASS', 34.1, 'kg', ['skeletal_muscle_mass', 34.1]],
  ['BMI', 24.1, 'kg/m²', ['body_mass_index', 24.1]],
]

const IOS_SOURCE = {
  appId: 'com.apple.health.3F1C7A52-8E0B-4C1D-9B64-0D2A7E915C33',
  deviceId: null,
  deviceName: 'Apple Watch',
  deviceManufacturer: 'Apple Inc.',
  deviceModel: 'Watch7,5',
  deviceType: 'watch',
  recordingMethod: null,
  deviceHardwareVersion: 'Watch7,5',
  deviceSoftwareVersion: '26.1',
  operatingSystemVersion: { majorVersion: 26, minorVersion: 1, patchVersion: 0 },
}

const ANDROID_SOURCE = {
  appId: 'com.google.android.apps.fitness',
  deviceId: null,
  deviceName: null,
  deviceManufacturer: 'Google',
  deviceModel: 'Pixel Watch 3',
  deviceType: 'watch',
  recordingMethod: 'automatic',
}

/** Seconds from 2026-02-24T08:00:00Z, as every SDK writes instants: in UTC, without fractions. */
const at = (second: number) => `${new Date(Date.UTC(2026, 1, 24, 8) + second * 1000).toISOString().slice(0, 19)}Z`

/** A round of these records, one a second, with a night and a workout, as this release writes it. */
export function roundOf({ provider, name }: Release, records: readonly SentRecord[]): string {
  const isIos = provider === 'apple'
  const source = isIos ? IOS_SOURCE : ANDROID_SOURCE
  const id = () => (isIos ? randomUUID().toUpperCase() : randomUUID())
  const item = (start: number, end: number) => ({
    ...{ id: id(), parentId: isIos ? null : id(), startDate: at(start), endDate: at(end) },
    ...{ zoneOffset: isIos ? null : '+01:00', source, metadata: null },
  })
  const body = {
    provider,
    sdkVersion: name.split(' ')[1],
    syncTimestamp: at(40_000),
    ...(name === 'iOS 0.15.0' && { syncSessionId: id(), syncType: 'live' }),
    data: {
      records: records.map(([type, value, unit], n) => ({
        ...{ ...item(n, n), parentId: null, type, value, unit },
        metadata: isIos ? { HKMetadataKeyHeartRateMotionContext: '1' } : null,
      })),
      workouts: [
        {
          ...{ ...item(3600, 6351), parentId: null, type: isIos ? 'running' : 'RUNNING', title: null, notes: null },
          values: [
            { type: 'duration', value: 2751, unit: 's' },
            ...(isIos ? [{ type: 'distance', value: 8342.7, unit: 'm' }] : []),
          ],
          ...{ segments: null, laps: null, route: null, samples: null },
        },
      ],
      sleep: [
        { ...item(-30_000, -20_000), stage: 'light', values: null },
        { ...item(-20_000, -10_000), stage: 'deep', values: null },
      ],
    },
  }
  return isIos ? foundationJson(body) : androidJson(body)
}

/** The logs of a release that reports its first export, before it and after each type. */
export function exportLogs({ provider, name }: Release): string[] {
  const isIos = provider === 'apple'
  const type = isIos ? `${QUANTITY}HeartRate` : 'HEART_RATE'
  const write = isIos ? foundationJson : androidJson
  const state = {
    ...{
      eventType: 'device_state',
      timestamp: at(1),
      batteryLevel: -1,
      batteryState: isIos ? 'unplugged' : 'DISCHARGING',
    },
    ...{ isLowPowerMode: false, thermalState: isIos ? 'nominal' : 'NONE', taskType: 'background' },
    ...{ availableRamBytes: 1_530_982_400, totalRamBytes: 7_965_016_064 },
  }
  const log = (event: object) =>
    write({ sdkVersion: name.split(' ')[1], provider, events: [{ timestamp: at(0), ...event }, state] })
  return [
    log({
      eventType: 'historical_data_sync_start',
      dataTypeCounts: isIos ? [{ type }] : [{ type, count: 2000 }],
      timeRange: { endDate: at(0) },
    }),
    log({
      ...{ eventType: 'historical_data_type_sync_end', dataType: type },
      ...{ success: true, recordCount: 2000, durationMs: 8123 },
    }),
  ]
}
