// What a sender meant by a type that the provider does not have.
import t from 'tap'
import { sdkProviders } from '../../server/providers/index.ts'
import { likelyName } from '../../workers/likely-names.ts'

const providers = [...sdkProviders].map(([provider, { records }]) => [provider, [...records.keys()]] as const)
const namesOf = (provider: string) => providers.find(([name]) => name === provider)?.[1] ?? []
const HK = 'HKQuantityTypeIdentifier'

t.test('a name that differs in its plural or in words without a meaning of their own is known', async (t) => {
  for (const provider of ['health_connect', 'samsung']) {
    for (const [sent, meant] of [
      ['STEPS', 'STEP_COUNT'],
      ['steps', 'STEP_COUNT'],
      ['STEP', 'STEP_COUNT'],
      ['StepsRecord', 'STEP_COUNT'],
      ['HeartRateRecord', 'HEART_RATE'],
      ['Vo2MaxRecord', 'VO2_MAX'],
      ['FLOORS', 'FLOORS_CLIMBED'],
      ['ACTIVE_CALORIES', 'ACTIVE_CALORIES_BURNED'],
      ['BODY_FAT_PERCENTAGE', 'BODY_FAT'],
      ['STEPS_COUNT', 'STEP_COUNT'],
      ['hart_rate', 'HEART_RATE'],
    ] as const)
      t.equal(likelyName(sent, namesOf(provider)), meant, `${provider} ${sent}`)
  }
  for (const [sent, meant] of [
    ['Steps', 'StepCount'],
    [`${HK}Steps`, 'StepCount'],
    ['Flights', 'FlightsClimbed'],
    ['ActiveEnergy', 'ActiveEnergyBurned'],
    ['body_fat', 'BodyFatPercentage'],
  ] as const)
    t.equal(likelyName(sent, namesOf('apple')), HK + meant, `apple ${sent}`)
})

t.test('a name that says something else is not', async (t) => {
  const others = ['COUNT', 'RECORD', 'records', 'PERCENTAGE', 'TOTAL_CALORIES_BURNED', 'CALORIES', 'ENERGY', 'CYCLING']
  for (const sent of [
    ...others,
    'BODY',
    'MENSTRUATION',
    'SLEEP',
    'SleepSessionRecord',
    'BloodPressureRecord',
    'WORKOUT',
  ])
    for (const [provider, names] of providers) t.equal(likelyName(sent, names), null, `${provider} ${sent}`)
})

t.test('every known name is its own likely name', async (t) => {
  for (const [provider, names] of providers)
    t.strictSame(
      names.filter((name) => likelyName(name, names) !== name),
      [],
      provider,
    )
})
