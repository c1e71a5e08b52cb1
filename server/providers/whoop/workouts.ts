import type { WorkoutType } from '../../catalogue/workouts.ts'

/** Our type, then WHOOP's sports by name and number (docs/providers.md). */
export const sports: readonly (readonly [type: WorkoutType, ...sports: (readonly [name: string, id: number])[]])[] = [
  ['generic', ['activity', -1], ['other', 71]],
  ['running', ['running', 0], ['track-field', 35], ['stroller-jogging', 253]],
  [
    'walking',
    ['walking', 63],
    ['stroller-walking', 252],
    ['dog-walking', 266],
    ['caddying', 93],
    ['toddlerwearing', 254],
    ['babywearing', 255],
  ],
  ['hiking', ['hiking-rucking', 52]],
  ['wheelchair', ['wheelchair-pushing', 105]],
  ['cycling', ['cycling', 1]],
  ['mountain_biking', ['mountain-biking', 57]],
  ['indoor_cycling', ['spin', 97], ['assault-bike', 126]],
  ['swimming', ['swimming', 33]],
  ['water_polo', ['water-polo', 37]],
  ['rowing', ['rowing', 18]],
  ['kayaking', ['kayaking', 55]],
  ['stand_up_paddleboarding', ['paddleboarding', 61]],
  ['surfing', ['surfing', 64]],
  ['sailing', ['sailing', 28]],
  ['diving', ['diving', 73]],
  ['water_skiing', ['water-skiing', 267]],
  ['wakeboarding', ['wakeboarding', 268]],
  ['kitesurfing', ['kite-boarding', 264]],
  ['strength_training', ['weightlifting', 45], ['powerlifting', 59], ['strength-trainer', 123]],
  ['cardio_training', ['functional-fitness', 48], ['hiit', 96], ['jumping-rope', 84], ['obstacle-course-racing', 94]],
  ['elliptical', ['elliptical', 65]],
  ['stair_climbing', ['stairmaster', 66], ['climber', 83], ['stadium-steps', 261]],
  ['parkour', ['parkour', 110]],
  ['yoga', ['yoga', 44], ['hot-yoga', 259]],
  ['pilates', ['pilates', 43]],
  ['stretching', ['stretching', 128]],
  ['meditation', ['meditation', 70]],
  ['group_exercise', ['barre', 107], ['barre3', 258], ['f45-training', 248], ['barrys', 250]],
  ['alpine_skiing', ['skiing', 29]],
  ['cross_country_skiing', ['cross-country-skiing', 47]],
  ['snowboarding', ['snowboarding', 91]],
  ['ice_skating', ['ice-skating', 239]],
  ['soccer', ['soccer', 30]],
  ['basketball', ['basketball', 17]],
  ['american_football', ['football', 21]],
  ['football', ['australian-football', 85], ['gaelic-football', 111]],
  ['baseball', ['baseball', 16], ['softball', 31]],
  ['volleyball', ['volleyball', 36]],
  ['rugby', ['rugby', 27]],
  ['lacrosse', ['lacrosse', 25]],
  ['cricket', ['cricket', 100]],
  ['sport', ['netball', 232], ['ultimate', 82], ['spikeball', 104], ['hurling-camogie', 112], ['paintball', 238]],
  ['hockey', ['ice-hockey', 24], ['field-hockey', 20]],
  ['handball', ['handball', 240]],
  ['tennis', ['tennis', 34]],
  ['squash', ['squash', 32]],
  ['badminton', ['badminton', 231]],
  ['table_tennis', ['table-tennis', 230]],
  ['padel', ['padel', 249], ['paddle-tennis', 106]],
  ['pickleball', ['pickleball', 101]],
  ['boxing', ['boxing', 39], ['kickboxing', 127], ['box-fitness', 103]],
  ['martial_arts', ['martial-arts', 56], ['jiu-jitsu', 98]],
  ['wrestling', ['wrestling', 38]],
  ['fencing', ['fencing', 19]],
  ['rock_climbing', ['rock-climbing', 60]],
  ['golf', ['golf', 22]],
  ['disc_sports', ['disc-golf', 234]],
  ['inline_skating', ['inline-skating', 102]],
  ['skateboarding', ['skateboarding', 86]],
  ['horseback_riding', ['horseback-riding', 53], ['polo', 262]],
  ['triathlon', ['triathlon', 62]],
  ['multisport', ['duathlon', 49]],
  ['motorcycling', ['motocross', 92]],
  ['motor_sports', ['motor-racing', 95]],
  ['dance', ['dance', 42], ['circus-arts', 113], ['stage-performance', 108]],
  ['gymnastics', ['gymnastics', 51]],
  [
    'recovery',
    ['ice-bath', 88],
    ['sauna', 233],
    ['massage-therapy', 121],
    ['air-compression', 236],
    ['percussive-massage', 237],
  ],
  [
    'operations',
    ['operations-tactical', 74],
    ['operations-medical', 75],
    ['operations-flying', 76],
    ['operations-water', 77],
  ],
  ['work', ['manual-labor', 99], ['high-stress-work', 109], ['coaching', 87]],
  [
    'lifestyle',
    ['watching-sports', 125],
    ['commuting', 89],
    ['public-speaking', 272],
    ['musical-performance', 263],
    ['dedicated-parenting', 251],
  ],
  ['gaming', ['gaming', 90]],
  ['chores', ['yard-work', 235], ['cooking', 269], ['cleaning', 270]],
]

/** Seen, and without a number of their own. */
const unnumbered: readonly (readonly [name: string, WorkoutType])[] = [
  ['muay-thai', 'martial_arts'],
  ['hot_tub', 'recovery'],
]

const byName: ReadonlyMap<string, WorkoutType> = new Map([
  ...sports.flatMap(([type, ...own]) => own.map(([name]) => [folded(name), type] as const)),
  ...unnumbered.map(([name, type]) => [folded(name), type] as const),
])

const byId: ReadonlyMap<number, WorkoutType> = new Map(
  sports.flatMap(([type, ...own]) => own.map(([, id]) => [id, type] as const)),
)

/**
 * Our type of a sport, by its name, however that is spelled, else by its number; `other` for an unknown one. Sessions of
 * strength have `_msk` behind their names.
 */
export function workoutType(name: string | undefined, id: number | undefined): WorkoutType {
  return byName.get(folded((name ?? '').toLowerCase().replace(/_msk$/, ''))) ?? byId.get(id ?? Number.NaN) ?? 'other'
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}
