// What each provider makes of the truth of a person.
import type { Json } from './simulator.ts'
import { type Lines, ouraLines, type Span, whoopLines } from './truth.ts'
import { garminLines } from './truth-garmin.ts'
import { othersLines } from './truth-others.ts'
import { polarLines } from './truth-polar.ts'
import { stravaLines } from './truth-strava.ts'
import { suuntoLines } from './truth-suunto.ts'

/** The lines that have to be there, by provider. */
export const linesOf = {
  oura: ouraLines,
  whoop: whoopLines,
  strava: stravaLines,
  polar: polarLines,
  ...othersLines,
  garmin: garminLines,
  suunto: suuntoLines,
} satisfies Record<string, (truth: Json, span: Span) => Lines>
