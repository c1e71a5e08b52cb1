import type { Person } from './people.ts'

/** What measures: a source of a record. */
export type Device = 'watch' | 'phone' | 'scale' | 'cuff' | 'thermometer' | 'diary'

type Source = Readonly<Record<string, string | null>>

const APPLE: Partial<Record<Device, Source>> = {
  watch: { name: 'Apple Watch', deviceModel: 'Watch7,5', deviceType: 'watch' },
  phone: { name: 'iPhone', deviceModel: 'iPhone17,1', deviceType: 'phone' },
  scale: { name: 'Health Mate', deviceModel: 'Body+', deviceType: 'scale' },
}

const android = (appId: string, deviceManufacturer: string, deviceModel: string, deviceType: string): Source => {
  return { appId, deviceManufacturer, deviceModel, deviceType }
}

const SAMSUNG: Partial<Record<Device, Source>> = {
  watch: android('com.sec.android.app.shealth', 'Samsung', 'SM-L315F', 'watch'),
  phone: android('com.sec.android.app.shealth', 'Samsung', 'SM-S918B', 'phone'),
  scale: { ...android('com.sec.android.app.shealth', 'Samsung', 'SM-S918B', 'phone'), recordingMethod: 'manual' },
}

const WITHINGS = 'com.withings.wiscale2'

const HEALTH_CONNECT: Partial<Record<Device, Source>> = {
  watch: android('com.fitbit.FitbitMobile', 'Google', 'Pixel Watch 3', 'watch'),
  phone: android('com.google.android.apps.fitness', 'Google', 'Pixel 9', 'phone'),
  scale: android(WITHINGS, 'Withings', 'Body+', 'scale'),
  cuff: android(WITHINGS, 'Withings', 'BPM Connect', 'consumer_medical_device'),
  thermometer: android(WITHINGS, 'Withings', 'Thermo', 'consumer_medical_device'),
  diary: { ...android('com.myfitnesspal.android', 'Google', 'Pixel 9', 'phone'), recordingMethod: 'manual' },
}

const SOURCES = { apple: APPLE, samsung: SAMSUNG, health_connect: HEALTH_CONNECT }

/** A device as the SDK of a person's platform describes it. */
export function sourceOf({ provider }: Person, device: Device): Source {
  return SOURCES[provider][device] ?? {}
}

/** A quantity with the platforms' names for it; absent where a platform does not send it. */
interface Names {
  readonly apple?: readonly [type: string, unit: string]
  readonly android?: readonly [type: string, unit: string]
}

const hk = (name: string, unit: string) => [`HKQuantityTypeIdentifier${name}`, unit] as const

const NAMES = {
  heart: { apple: hk('HeartRate', 'count/min'), android: ['HEART_RATE', 'bpm'] },
  resting: { apple: hk('RestingHeartRate', 'count/min'), android: ['RESTING_HEART_RATE', 'bpm'] },
  variability: { apple: hk('HeartRateVariabilitySDNN', 'ms'), android: ['HEART_RATE_VARIABILITY', 'ms'] },
  oxygen: { apple: hk('OxygenSaturation', '%'), android: ['OXYGEN_SATURATION', '%'] },
  breaths: { apple: hk('RespiratoryRate', 'count/min'), android: ['RESPIRATORY_RATE', 'breaths/min'] },
  steps: { apple: hk('StepCount', 'count'), android: ['STEP_COUNT', 'count'] },
  meters: { apple: hk('DistanceWalkingRunning', 'm'), android: ['DISTANCE', 'm'] },
  kcal: { apple: hk('ActiveEnergyBurned', 'kcal'), android: ['ACTIVE_CALORIES_BURNED', 'kcal'] },
  floors: { apple: hk('FlightsClimbed', 'count'), android: ['FLOORS_CLIMBED', 'count'] },
  activeMinutes: { apple: hk('AppleExerciseTime', 'min') },
  basal: { apple: hk('BasalEnergyBurned', 'kcal'), android: ['BASAL_METABOLIC_RATE', 'kcal/day'] },
  weight: { apple: hk('BodyMass', 'kg'), android: ['WEIGHT', 'kg'] },
  fat: { android: ['BODY_FAT', '%'] },
  uptake: { apple: hk('VO2Max', 'mL/kg/min') },
  wrist: { apple: hk('AppleSleepingWristTemperature', 'degC') },
  temperature: { android: ['BASAL_BODY_TEMPERATURE', '°C'] },
  systolic: { android: ['BLOOD_PRESSURE_SYSTOLIC', 'mmHg'] },
  diastolic: { android: ['BLOOD_PRESSURE_DIASTOLIC', 'mmHg'] },
} satisfies Record<string, Names>

export type Quantity = keyof typeof NAMES

/** The platform's name of a quantity, and its unit; undefined where the platform does not send it. */
export function nameOf({ provider }: Person, quantity: Quantity): readonly [type: string, unit: string] | undefined {
  const names: Names = NAMES[quantity]
  return provider === 'apple' ? names.apple : names.android
}
