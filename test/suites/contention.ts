import '../http/contention.test.ts'
