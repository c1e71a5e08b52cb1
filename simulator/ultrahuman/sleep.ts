import { MEANS_SECONDS, type SleepView, type Stage } from '../truth/sleep.ts'

type Row = Record<string, unknown>

const STAGES: Record<Stage, string> = {
  ...{ awake: 'awake', light: 'light_sleep', deep: 'deep_sleep', rem: 'rem_sleep' },
}

/** A night: seconds since 1970 and of lengths, whole percent. */
export function sleepObject(view: SleepView): Row {
  const { sleep, startMs, endMs, seconds, runs, efficiency } = view
  const total = (endMs - startMs) / 1000
  const asleep = total - seconds.awake
  const share = (part: number) => Math.round((part / total) * 100)
  const length = (part: number) => ({ minutes: Math.round(part / 60), seconds: part })
  return {
    ...{ bedtime_start: Math.floor(startMs / 1000), bedtime_end: Math.floor(endMs / 1000) },
    quick_metrics: [
      {
        type: 'time_in_bed',
        title: 'TIME IN BED',
        value: total,
        unit: 's',
        display_text: `${Math.round(total / 60)} min`,
      },
      { type: 'sleep_efic', title: 'SLEEP EFFICIENCY', value: Math.round(efficiency), unit: '%' },
    ],
    quick_metrics_tiled: [],
    sleep_stages: (['deep', 'light', 'rem', 'awake'] as const).map((stage) => ({
      ...{ type: STAGES[stage], stage_time: seconds[stage], percentage: share(seconds[stage]) },
      stage_time_text: `${Math.round(seconds[stage] / 60)} min`,
    })),
    sleep_graph: { title: 'Sleep', data: graph(startMs, runs) },
    movement_graph: { data: [] },
    hr_graph: {
      data: Array.from(view.heartRate, (value, i) => ({
        ...{ value: value || null, timestamp: Math.floor(startMs / 1000) + i * MEANS_SECONDS },
      })),
    },
    // The number of the app may be another one than that of the list.
    sleep_score: { score: sleep.unscorable ? null : sleep.quality },
    ...{ total_sleep: length(asleep), sleep_efficiency: { percentage: Math.round(efficiency) } },
    time_in_bed: { minutes: Math.round(total / 60) },
    ...{ deep_sleep: length(seconds.deep), light_sleep: length(seconds.light), rem_sleep: length(seconds.rem) },
    temperature_deviation: { celsius: sleep.temperatureDeviation },
    average_body_temperature: { celsius: sleep.skinTemperature },
    ...{ restorative_sleep: { percentage: share(seconds.deep + seconds.rem) }, movements: { count: 40 } },
    ...{ tosses_and_turns: { count: sleep.disturbances }, full_sleep_cycles: { cycles: 4 } },
  }
}

function graph(startMs: number, runs: SleepView['runs']): Row[] {
  let at = Math.floor(startMs / 1000)
  return runs.map(({ stage, seconds }) => {
    const start = at
    at += seconds
    return { start, end: at, type: STAGES[stage], toss_turn: stage === 'awake' }
  })
}
