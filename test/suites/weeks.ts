import '../api/summaries-weeks.test.ts'
