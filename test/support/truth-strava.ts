// What Strava makes of the truth of a person, as lines of text (truth.ts).
import { round } from '../../simulator/random.ts'
import type { Json } from './simulator.ts'
import { kcalLine, type Lines, ms, type Span, within, workoutLine } from './truth.ts'

const DAY_MS = 86_400_000

const TYPES: Record<string, string> = {
  ...{ running: 'running', 'trail running': 'trail_running', walking: 'walking', hiking: 'hiking' },
  ...{ cycling: 'cycling', swimming: 'swimming', rowing: 'rowing', strength: 'strength_training', yoga: 'yoga' },
  ...{ hiit: 'cardio_training', tennis: 'tennis', floorball: 'generic', unknown: 'generic' },
}

/** The lines that Strava's activities become. */
export function stravaLines(truth: Json, span: Span): Lines {
  const required = new Set<string>()
  const anyhow = new Set<string>()
  const add = within(span, required)
  for (const workout of truth.workouts) {
    const start = ms(workout.start)
    const isIndoors = workout.sport === 'cycling' && workout.distance_m === null
    // Trainers know no zone, on some days.
    const isNowhere = isIndoors && (ms(workout.date) / DAY_MS) % 2 === 0
    const shown = isNowhere ? { ...workout, start_offset: '+00:00' } : workout
    const type = isIndoors ? 'indoor_cycling' : TYPES[workout.sport]
    add(workoutLine(shown, type, round(workout.distance_m ?? 0, 1)), start)
    if (start >= (span.aloneMs ?? 0)) add(kcalLine(workout.start, round(workout.active_kcal, 1)), start)
    // Lists say the work at most.
    else anyhow.add(kcalLine(workout.start, '').trim())
  }
  return { required, allowed: new Set(), unsure: new Set(), anyhow }
}
