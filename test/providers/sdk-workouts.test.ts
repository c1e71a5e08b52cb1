import t from 'tap'
import { workoutTypes } from '../../server/catalogue/workouts.ts'
import { type SdkProvider, sdkProviders } from '../../server/providers/index.ts'

// sdk-types 8.5: what is sent, then our type.

const apple = `
  walking walking, running running, cycling cycling, wheelchair_walk walking, wheelchair_run running, hand_cycling
  cycling, elliptical elliptical, stair_climbing stair_climbing, stairs stair_climbing, jump_rope cardio_training,
  core_training strength_training, functional_strength_training strength_training, strength_training
  strength_training, cross_training cardio_training, mixed_cardio cardio_training, hiit cardio_training,
  step_training aerobics, fitness_gaming gaming, preparation_and_recovery stretching, flexibility stretching,
  cooldown stretching, barre aerobics, cardio_dance dance, social_dance dance, yoga yoga, mind_and_body stretching,
  pilates pilates, american_football american_football, australian_football football, baseball baseball, basketball
  basketball, cricket cricket, disc_sports disc_sports, handball handball, hockey hockey, lacrosse lacrosse, rugby
  rugby, soccer soccer, softball baseball, volleyball volleyball, badminton badminton, pickleball pickleball,
  racquetball racquetball, squash squash, table_tennis table_tennis, tennis tennis, climbing rock_climbing,
  equestrian horseback_riding, fishing fishing, golf golf, hiking hiking, hunting hunting, play play,
  cross_country_skiing cross_country_skiing, curling curling, downhill_skiing alpine_skiing, snow_sports
  snow_sports, snowboarding snowboarding, skating ice_skating, paddle_sports paddling, rowing rowing, sailing
  sailing, surfing surfing, swimming swimming, underwater_diving diving, water_fitness swimming, water_polo
  water_polo, water_sports water_sports, boxing boxing, kickboxing boxing, martial_arts martial_arts, tai_chi
  martial_arts, wrestling martial_arts, archery archery, bowling bowling, fencing fencing, gymnastics
  fitness_equipment, track_and_field running, swim_bike_run triathlon, transition transition, dance dance,
  dance_inspired_training dance, mixed_metabolic_cardio_training cardio_training, other generic`

const healthConnect = `
  walking walking, running running, cycling cycling, elliptical elliptical, stair_climbing stair_climbing,
  strength_training strength_training, hiit cardio_training, yoga yoga, pilates pilates, baseball baseball,
  basketball basketball, cricket cricket, handball handball, rugby rugby, soccer soccer, softball baseball,
  volleyball volleyball, badminton badminton, racquetball racquetball, squash squash, table_tennis table_tennis,
  tennis tennis, golf golf, hiking hiking, snowboarding snowboarding, skating ice_skating, rowing rowing, sailing
  sailing, surfing surfing, water_polo water_polo, boxing boxing, martial_arts martial_arts, fencing fencing,
  gymnastics fitness_equipment, cycling_stationary indoor_cycling, boot_camp cardio_training, calisthenics
  strength_training, dancing dance, exercise_class cardio_training, football_american american_football,
  football_australian football, frisbee_disc disc_sports, guided_breathing meditation, ice_hockey hockey,
  ice_skating ice_skating, paddling paddling, paragliding paragliding, rock_climbing rock_climbing, roller_hockey
  hockey, rowing_machine rowing_machine, running_treadmill treadmill, scuba_diving diving, skiing alpine_skiing,
  snowshoeing snowshoeing, stair_climbing_machine stair_climbing, stretching stretching, swimming_open_water
  open_water_swimming, swimming_pool pool_swimming, weightlifting strength_training, wheelchair wheelchair, other
  generic`

const samsung = `
  walking walking, running running, cycling cycling, elliptical elliptical, hiit cardio_training, yoga yoga, pilates
  pilates, baseball baseball, basketball basketball, cricket cricket, handball handball, rugby rugby, soccer soccer,
  softball baseball, volleyball volleyball, badminton badminton, racquetball racquetball, squash squash,
  table_tennis table_tennis, tennis tennis, golf golf, hiking hiking, snowboarding snowboarding, skating
  ice_skating, sailing sailing, boxing boxing, martial_arts martial_arts, cycling_stationary indoor_cycling, dancing
  dance, football_american american_football, frisbee_disc disc_sports, ice_hockey hockey, ice_skating ice_skating,
  paddling paddling, paragliding paragliding, rock_climbing rock_climbing, rowing_machine rowing_machine,
  running_treadmill treadmill, scuba_diving diving, skiing alpine_skiing, snowshoeing snowshoeing,
  stair_climbing_machine stair_climbing, stretching stretching, swimming_open_water open_water_swimming,
  swimming_pool pool_swimming, weightlifting strength_training, other generic`

const samsungCodes = `
  0 generic, 1001 walking, 1002 running, 2001 baseball, 2002 baseball, 2003 cricket, 3001 golf, 4002 rugby, 4003
  basketball, 4004 soccer, 4005 handball, 4006 american_football, 5001 volleyball, 5002 volleyball, 6001 squash,
  6002 tennis, 6003 badminton, 6004 table_tennis, 6005 racquetball, 7001 martial_arts, 7002 boxing, 7003
  martial_arts, 8002 dance, 8003 dance, 9001 pilates, 9002 yoga, 10001 stretching, 10007 cardio_training, 11001
  ice_skating, 11002 paragliding, 11007 cycling, 11008 disc_sports, 11009 ice_skating, 13001 hiking, 13002
  rock_climbing, 13004 cycling, 14001 pool_swimming, 14003 paddling, 14004 sailing, 14005 diving, 14007 paddling,
  14010 rowing_machine, 15001 stair_climbing, 15002 strength_training, 15003 indoor_cycling, 15004 rowing_machine,
  15005 treadmill, 15006 elliptical, 16001 alpine_skiing, 16002 alpine_skiing, 16004 ice_skating, 16006 hockey,
  16007 snowboarding, 16008 alpine_skiing, 16009 snowshoeing`

const samsungNames = `
  BIKING cycling, MOUNTAIN_BIKING cycling, STATIONARY_BIKING indoor_cycling, POOL_SWIMMING pool_swimming,
  OPEN_WATER_SWIMMING open_water_swimming, AMERICAN_FOOTBALL american_football, TRACK_RUNNING running, TREADMILL
  treadmill, WEIGHT_MACHINE strength_training, CANOEING paddling, KAYAKING paddling, FLYING_DISC disc_sports,
  INLINE_SKATING ice_skating, ROLLER_SKATING ice_skating, BALLROOM_DANCING dance, ZUMBA dance, CROSS_COUNTRY_SKIING
  alpine_skiing, ALPINE_SKIING alpine_skiing, STEP_MACHINE stair_climbing, CIRCUIT_TRAINING cardio_training,
  UNDEFINED generic, OTHER generic, UNKNOWN generic, CUSTOM generic`

/** After HKWorkoutActivityType. */
const healthKit = `
  Walking walking, Running running, Cycling cycling, WheelchairWalkPace walking, WheelchairRunPace running,
  HandCycling cycling, Elliptical elliptical, StairClimbing stair_climbing, Stairs stair_climbing, JumpRope
  cardio_training, CoreTraining strength_training, FunctionalStrengthTraining strength_training,
  TraditionalStrengthTraining strength_training, CrossTraining cardio_training, MixedCardio cardio_training,
  HighIntensityIntervalTraining cardio_training, StepTraining aerobics, FitnessGaming gaming, PreparationAndRecovery
  stretching, Flexibility stretching, Cooldown stretching, Barre aerobics, CardioDance dance, SocialDance dance,
  Yoga yoga, MindAndBody stretching, Pilates pilates, AmericanFootball american_football, AustralianFootball
  football, Baseball baseball, Basketball basketball, Cricket cricket, DiscSports disc_sports, Handball handball,
  Hockey hockey, Lacrosse lacrosse, Rugby rugby, Soccer soccer, Softball baseball, Volleyball volleyball, Badminton
  badminton, Pickleball pickleball, Racquetball racquetball, Squash squash, TableTennis table_tennis, Tennis tennis,
  Climbing rock_climbing, EquestrianSports horseback_riding, Fishing fishing, Golf golf, Hiking hiking, Hunting
  hunting, Play play, CrossCountrySkiing cross_country_skiing, Curling curling, DownhillSkiing alpine_skiing,
  SnowSports snow_sports, Snowboarding snowboarding, SkatingSports ice_skating, PaddleSports paddling, Rowing
  rowing, Sailing sailing, SurfingSports surfing, Swimming swimming, UnderwaterDiving diving, WaterFitness swimming,
  WaterPolo water_polo, WaterSports water_sports, Boxing boxing, Kickboxing boxing, MartialArts martial_arts, TaiChi
  martial_arts, Wrestling martial_arts, Archery archery, Bowling bowling, Fencing fencing, Gymnastics
  fitness_equipment, TrackAndField running, SwimBikeRun triathlon, Transition transition, Dance dance,
  DanceInspiredTraining dance, MixedMetabolicCardioTraining cardio_training, Other generic`

const pairs = (text: string) =>
  text
    .trim()
    .split(/,\s+/)
    .map((pair) => pair.split(/\s+/) as [wire: string, type: string])

const typeFor = (provider: SdkProvider) => sdkProviders.get(provider)!.workoutType

t.test('a workout has the type its SDK names, in any case and with spaces around', async (t) => {
  const sent: [provider: SdkProvider, table: string, rows: number][] = [
    ['apple', apple, 84],
    ['health_connect', healthConnect, 61],
    ['samsung', samsung, 47],
    ['samsung', samsungCodes, 55],
    ['samsung', samsungNames, 24],
  ]
  for (const [provider, table, rows] of sent) {
    const type = typeFor(provider)
    t.equal(pairs(table).length, rows, provider)
    const found = pairs(table).map(([wire]) => {
      const types = [wire, wire.toUpperCase(), ` ${wire.toLowerCase()}\n`].map(type)
      return [wire, ...new Set(types)]
    })
    t.strictSame(found, pairs(table), provider)
    t.strictSame(
      pairs(table).filter(([, expected]) => !workoutTypes.includes(expected as never)),
      [],
    )
  }
})

t.test("HealthKit's own identifiers mean the same as what the iOS SDK makes of them", async (t) => {
  const type = typeFor('apple')
  for (const [tail, expected] of pairs(healthKit)) t.equal(type(`HKWorkoutActivityType${tail}`), expected, tail)
  t.equal(type('HKWorkoutActivityTypeUnderwaterBasketWeaving'), 'other')
})

t.test('what no table knows is other, what a platform calls other is generic', async (t) => {
  for (const provider of sdkProviders.keys()) {
    const type = typeFor(provider)
    for (const wire of [null, '', ' ', 'underwater_basket_weaving', 'UNKNOWN_83', 'constructor', '__proto__']) {
      t.equal(type(wire), 'other', `${provider} ${wire}`)
    }
    t.equal(type('other'), 'generic')
  }
  t.equal(typeFor('samsung')('99999'), 'generic', 'a code of Samsung Health without a name is its other')
  t.equal(typeFor('health_connect')('10007'), 'other', 'which are codes of no other platform')
  t.equal(typeFor('apple')('10007'), 'other')
})
