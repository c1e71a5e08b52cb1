import '../store/lock.test.ts'
