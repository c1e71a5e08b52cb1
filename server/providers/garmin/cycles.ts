import { DAY_MS, parseInstant } from '../../time.ts'
import type { Item, Out, Part } from '../part.ts'
import { counted } from './items.ts'

/** Menstrual cycles; one comes again each day, under the same id. */
export function mct(out: Out, part: Part): void {
  for (const item of out.items()) {
    const externalId = item.id('summaryId')
    const field = item.text('periodStartDate') === undefined ? 'periodStartDateStr' : 'periodStartDate'
    // A prediction of a cycle that has not begun.
    if ((parseInstant(`${item.text(field)}T00:00:00Z`) ?? 0) > part.atMs + DAY_MS) {
      out.ignore('predicted')
      continue
    }
    const start = item.day(field)
    if (!externalId) item.reject('missing', 'summaryId')
    if (!start) item.reject('missing', 'periodStartDate')
    if (externalId && start) out.cycle({ externalId, start, ...cycleOf(item, start.ms) })
  }
}

function cycleOf(item: Item, startMs: number) {
  const [cycleLength, predictedCycleLength] = [counted(item, 'cycleLength'), counted(item, 'predictedCycleLength')]
  const pregnancy = item.document('pregnancySnapshot')
  return {
    endMs: startMs + (cycleLength ?? predictedCycleLength ?? 0) * DAY_MS,
    cycleLength,
    predictedCycleLength,
    currentPhase: counted(item, 'currentPhase'),
    currentPhaseType: item.text('currentPhaseType')?.toLowerCase(),
    dayInCycle: counted(item, 'dayInCycle'),
    periodLength: counted(item, 'periodLength'),
    lengthOfCurrentPhase: counted(item, 'lengthOfCurrentPhase'),
    daysUntilNextPhase: counted(item, 'daysUntilNextPhase'),
    fertileWindowStart: counted(item, 'fertileWindowStart'),
    lengthOfFertileWindow: counted(item, 'lengthOfFertileWindow'),
    isPredictedCycle: item.boolean('isPredictedCycle'),
    hasSpecifiedCycleLength: item.boolean('hasSpecifiedCycleLength'),
    hasSpecifiedPeriodLength: item.boolean('hasSpecifiedPeriodLength'),
    lastUpdatedMs: updatedMs(item),
    pregnancySnapshot: pregnancy?.startsWith('{') ? `[${pregnancy}]` : pregnancy,
  }
}

function updatedMs(item: Item): number | undefined {
  const seconds = counted(item, 'lastUpdatedTimeInSeconds')
  return seconds === undefined ? item.instant('lastUpdatedAt')?.ms : Math.round(seconds * 1000)
}
