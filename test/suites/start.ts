import '../start.test.ts'
