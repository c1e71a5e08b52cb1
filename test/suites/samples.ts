import '../api/statements.test.ts'
import '../api/timeseries.test.ts'
import '../api/timeseries-priority.test.ts'
