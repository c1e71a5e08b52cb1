import '../store/sleep/sleep.test.ts'
