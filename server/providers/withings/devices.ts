import type { DeviceType } from '../../catalogue/devices.ts'
import type { Item, Out } from '../part.ts'

/** Our name of the source, beside its device. */
export const APP = 'Withings'

/** The writer of what somebody typed in. */
export const MANUAL = 'manual'

/** Kinds of devices, and the names of their models by number (docs/providers.md). */
const kinds: readonly (readonly [type: DeviceType, ...models: (readonly [id: number, name: string])[]])[] = [
  [
    'scale',
    ...([
      [1, 'WBS01'],
      [2, 'WS30'],
      [3, 'Kid Scale'],
      [4, 'Smart Body Analyzer'],
      [5, 'Body+'],
      [13, 'Body+'],
    ] as const),
    ...([
      [6, 'Body Cardio'],
      [7, 'Body'],
      [9, 'Body Pro'],
      [10, 'Body Scan'],
      [11, 'WBS10'],
      [12, 'WBS11'],
    ] as const),
    ...([
      [14, 'Body Scale'],
      [15, 'Body Comp'],
      [18, 'Body Comp'],
      [16, 'Body Smart'],
    ] as const),
  ],
  [
    'bp_monitor',
    ...([
      [41, 'BPM V1'],
      [42, 'BPM V2'],
      [43, 'BPM V3'],
      [44, 'BPM Core'],
      [45, 'BPM Connect'],
    ] as const),
    ...([
      [46, 'BPM Connect Pro'],
      [47, 'BPM Pro 2'],
      [48, 'BPM Vision'],
    ] as const),
  ],
  ['band', [51, 'Pulse'], [54, 'Go'], [58, 'Pulse HR']],
  [
    'watch',
    ...([
      [52, 'Activite'],
      [53, 'Activite Pop'],
      [55, 'Steel HR'],
      [59, 'Steel HR Sport'],
      [90, 'Move'],
    ] as const),
    ...([
      [91, 'Move ECG'],
      [92, 'Move ECG'],
      [93, 'ScanWatch'],
      [94, 'ScanWatch 2'],
      [95, 'ScanWatch Light'],
    ] as const),
  ],
  ['sleep_monitor', [60, 'Aura'], [61, 'Aura'], [62, 'Aura'], [63, 'Sleep Analyzer']],
  ['thermometer', [70, 'Thermo'], [71, 'BeamO']],
  ['other', [100, 'WUP01']],
  [
    'phone',
    ...([
      [1051, 'iOS app tracker'],
      [1052, 'iOS app tracker'],
    ] as const),
    ...([
      [1053, 'Android app tracker'],
      [1054, 'Android app tracker'],
    ] as const),
  ],
  ['glucose_meter', [1061, 'iGlucose'], [1063, 'Lingo']],
]

/** A device as reads show it. */
export interface Device {
  readonly name: string
  readonly type?: DeviceType | undefined
}

const models: ReadonlyMap<number, Device> = new Map(
  kinds.flatMap(([type, ...own]) => own.map(([id, name]) => [id, { name, type }] as const)),
)

/** What was taken over from Google Fit, Samsung Health, HealthKit, Health Connect and Huawei. */
export const isImported = (model: number | undefined): boolean =>
  model !== undefined && ((model >= 1055 && model <= 1060) || model === 1062)

/** The device of a model by its number, else by its name. */
export const deviceNamed = (id: number | undefined, name = ''): Device => models.get(id ?? Number.NaN) ?? { name }

/** The device that an item names: a number in one field or another, and a name, or the number, in a third. */
export function deviceOf(item: Item): Device & { readonly model: number | undefined } {
  const model = item.id('model')
  const own = model !== undefined && /^\d{1,6}$/.test(model) ? Number(model) : undefined
  const id = item.numeric('model_id') ?? item.numeric('modelid') ?? own
  return { ...deviceNamed(id, own === undefined ? model : ''), model: id }
}

/** Everything that follows is of a device; somebody may have typed it in. */
export const fromDevice = (out: Out, { name, type }: Device, isManual = false): void =>
  out.source(name, isManual ? MANUAL : APP, type)
