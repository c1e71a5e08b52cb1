// server/main.ts with a clock that the test sets (see service.ts), as an operator or NTP would. As in reality, timers
// and performance.now() do not depend on that clock.
const RealDate = Date
let aheadMs = 0

class SetDate extends RealDate {
  constructor(...parts: [] | ConstructorParameters<typeof Date>) {
    if (parts.length === 0) super(SetDate.now())
    else super(...parts)
  }
  static override now(): number {
    return RealDate.now() + aheadMs
  }
}

globalThis.Date = SetDate as DateConstructor
process.on('message', (set: { aheadMs: number }) => {
  aheadMs = set.aheadMs
  process.send?.('set')
})
// The test has ended: stop.
process.on('disconnect', () => process.exit())
await import('../../server/main.ts')
