import '../api/golden-weeks.test.ts'
import '../api/summaries-weeks.test.ts'
